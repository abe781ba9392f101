import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { versionFaults } from './changelog.ts';

/** Refuses a tag that breaks the rule of versions: `node scripts/release/check-version.ts v0.1.0`. */
const [tag = ''] = process.argv.slice(2);
const faults = versionFaults({
  tag,
  version: (JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }).version,
  chart: parse(readFileSync('infra/chart/Chart.yaml', 'utf8')) as {
    readonly version: string;
    readonly appVersion: string;
  },
  changelog: readFileSync('CHANGELOG.md', 'utf8'),
});
for (const fault of faults) console.error(`✗ ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;
