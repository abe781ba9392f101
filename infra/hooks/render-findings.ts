import type { Finding } from './finding.ts';

/** The findings as lines for a terminal: what is in order in short, what is not with the way to mend it. */
export function renderFindings(findings: ReadonlyArray<Finding>, clusterId: string): ReadonlyArray<string> {
  const [, , , , group = 'GROUP', , , , name = 'CLUSTER'] = clusterId.split('/');
  const cluster = `--resource-group ${group} --name ${name}`;
  return findings.flatMap((finding) => {
    if (finding.verdict === 'passed') return [`✓ ${finding.check}: ${finding.says}`];
    const mark = finding.verdict === 'failed' ? '✗' : '!';
    return [
      `${mark} ${finding.check}: ${finding.says}`,
      `    fix: ${finding.mend.replace(/^(az aks \w+) CLUSTER/, `$1 ${cluster}`)}`,
    ];
  });
}
