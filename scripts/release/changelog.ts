/** What is being worked on stands under this title, until it gets a version. */
const UNRELEASED = 'Unreleased';

/** What the changelog says of a version; null where it says nothing. `title`: as in `## 0.2.0 (2026-12-01)`. */
export function sectionOf(changelog: string, version: string): string | null {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((one) => one.split(/[\s(]/)[0] === version);
  return section === undefined ? null : section.slice(section.indexOf('\n')).trim();
}

/**
 * The one rule of versions: package.json says it, the chart has the same, the tag is `v` and the version, and the
 * changelog has a section of that name with a day. Says what breaks it; nothing where all agree.
 */
export function versionFaults({
  tag,
  version,
  chart,
  changelog,
}: {
  readonly tag: string;
  readonly version: string;
  readonly chart: { readonly version: string; readonly appVersion: string };
  readonly changelog: string;
}): ReadonlyArray<string> {
  const section = sectionOf(changelog, version);
  const heading = changelog.split('\n').find((line) => line.startsWith(`## ${version}`)) ?? '';
  return [
    ...(tag === `v${version}` ? [] : [`the tag is ${tag}, and package.json says ${version}: tag it v${version}`]),
    ...(chart.version === version && chart.appVersion === version
      ? []
      : [`infra/chart/Chart.yaml says ${chart.version} and ${chart.appVersion}: write ${version} for both`]),
    ...(section === null || section === ''
      ? [`CHANGELOG.md says nothing of ${version}: give what is under ${UNRELEASED} the title ${version} (YYYY-MM-DD)`]
      : []),
    ...(section === null || /\(\d{4}-\d\d-\d\d\)$/.test(heading)
      ? []
      : [`CHANGELOG.md has ${version} without a day: write ## ${version} (YYYY-MM-DD)`]),
  ];
}
