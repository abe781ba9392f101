import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sectionOf } from './changelog.ts';
import { krewManifest } from './krew-manifest.ts';
import { releaseNotes } from './release-notes.ts';

/**
 * Writes into `dist/release`, where main.json, app.zip, the command's archive and the chart lie already: krew's
 * manifest, the notes of the release and the sums of all of them.
 *
 *     node scripts/release/write-files.ts --repository OWNER/NAME --relay-image REGISTRY/NAME@sha256:… --chart oci://REGISTRY/NAME
 */
const folder = 'dist/release';
const { values: given } = parseArgs({
  options: { repository: { type: 'string' }, 'relay-image': { type: 'string' }, chart: { type: 'string' } },
});
const { repository, 'relay-image': relayImage, chart } = given;
if (repository === undefined || relayImage === undefined || chart === undefined) {
  console.error('--repository, --relay-image and --chart are needed');
  process.exit(2);
}
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
const sumOf = (name: string): string =>
  createHash('sha256')
    .update(readFileSync(join(folder, name)))
    .digest('hex');

const archive = `nodewright-${version}.tgz`;
const homepage = `https://github.com/${repository}`;
const download = `${homepage}/releases/download/v${version}`;
writeFileSync(
  join(folder, 'nodewright.yaml'),
  krewManifest({ version, homepage, url: `${download}/${archive}`, sha256: sumOf(archive) }),
);
const changes = sectionOf(readFileSync('CHANGELOG.md', 'utf8'), version) ?? '';
writeFileSync(join(folder, 'notes.md'), releaseNotes({ version, repository, download, relayImage, chart, changes }));
const files = readdirSync(folder).filter((name) => name !== 'notes.md' && name !== 'SHA256SUMS');
writeFileSync(
  join(folder, 'SHA256SUMS'),
  files
    .toSorted()
    .map((name) => `${sumOf(name)}  ${name}\n`)
    .join(''),
);
