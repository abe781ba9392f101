import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A program that notes how it was called, and does nothing. */
const NOTES = (calls: string): string =>
  `require('node:fs').appendFileSync(${JSON.stringify(calls)}, JSON.stringify({ args: process.argv.slice(2), cwd: process.cwd() }) + '\\n');\n`;

/**
 * An `az` for the hooks, in a folder to put on the PATH: `az rest` asks the Azure double, and what the double does not
 * serve is answered here. Every call is written to `calls`, one object of JSON a line, with the files and values of a
 * chart that were sent along. `AZ_CLUSTER` is laid over the cluster's properties, `AZ_OUTPUTS` are those of a
 * deployment, `AZ_LOOK` is what the cluster answers when the chart's hook looks at it, `AZ_INVOKE` is how a command in
 * the cluster ends. `AZ_REFUSES` and `AZ_HANGS` say what az refuses and what keeps it for a minute, by a pattern, and
 * with `AZ_NOTHING` nothing was deployed before. Beside it an `azd` that only notes its calls.
 */
export function writeFakeAz(folder: string, azure: string, subscription: string): { readonly calls: string } {
  const calls = join(folder, 'calls');
  const script = `#!${process.execPath}
const { appendFileSync, existsSync, readFileSync, readdirSync } = require('node:fs');
const args = process.argv.slice(2).filter((word, index, all) => !['--only-show-errors', '--output'].includes(word) && all[index - 1] !== '--output');
const sent = existsSync('deployed-values.json') ? JSON.parse(readFileSync('deployed-values.json', 'utf8')) : null;
const files = sent === null ? [] : readdirSync('.', { recursive: true });
appendFileSync(${JSON.stringify(calls)}, JSON.stringify({ args, cwd: process.cwd(), sent, files }) + '\\n');
const say = (value) => console.log(JSON.stringify(value));
const refuse = (message) => { console.error('ERROR: ' + message); process.exitCode = 1; };
const owner = { value: [{ actions: ['*'], notActions: [] }] };
const known = [
  [/^version$/, { 'azure-cli': '2.91.0' }],
  [/^role (definition list|assignment create|definition delete|assignment delete)/, []],
  [/^aks update/, {}],
  [/^(group|deployment sub|consumption budget) delete/, null],
  [/^deployment sub what-if/, { changes: JSON.parse(process.env.AZ_CHANGES ?? '[]') }],
  [/\\/Microsoft\\.Web\\/sites\\/[^/]+\\?/, { properties: { state: 'Running', defaultHostName: 'app.example.com' } }],
  [/\\/host\\/default\\/listkeys\\?/, { functionKeys: { default: 'key-of-the-app' } }],
  [/^aks command invoke .*helm get values/, { exitCode: 0, logs: 'Error: release: not found\\n---\\n' + (process.env.AZ_LOOK ?? '---\\n---\\n') }],
  [/^deployment sub export /, { parameters: {} }],
  [/^aks command invoke .*kubectl get nodepools --output name; echo/, { exitCode: 0, logs: '---\\n---\\n---\\n' }],
  [/^aks command invoke .*kubectl (get|delete) /, { exitCode: 0, logs: process.env.AZ_LOOK ?? '---\\n---\\n' }],
  [/^account show$/, { id: ${JSON.stringify(subscription)} }],
  [/\\/permissions\\?/, owner],
  [/\\/systemTopics\\?/, { value: [] }],
  [/\\/virtualNetworks\\?/, { value: [] }],
  [/\\/Microsoft\\.App\\?/, { registrationState: 'Registered' }],
  [/^functionapp list-flexconsumption-locations/, [{ name: 'West Europe' }]],
  [/^\\/subscriptions\\/[0-9a-f-]+\\?/, { subscriptionPolicies: { quotaId: 'PayAsYouGo_2014-09-01' } }],
  [/^acr repository show/, { digest: 'sha256:' + '5'.repeat(64) }],
  [/^aks command invoke .*get customresourcedefinitions/, { exitCode: 0, logs: process.env.AZ_LOOK ?? '---\\n---\\n' }],
  [/^aks command invoke .*auth can-i/, { exitCode: 0, logs: (process.env.AZ_CAN_I ?? 'yes') + '\\nyes'.repeat(5) }],
  [/^account set /, null],
  [/^deployment sub (create|show) /, { location: 'westeurope', properties: { provisioningState: 'Succeeded', timestamp: '2026-11-26T01:00:00Z', outputs: JSON.parse(process.env.AZ_OUTPUTS ?? '{}') } }],
  [/^functionapp deployment source config-zip /, null],
  [/^acr show/, { loginServer: 'registry.example.com' }],
  [/^acr build/, null],
  [/^aks command invoke/, { exitCode: Number(process.env.AZ_INVOKE ?? 0), logs: 'Release "nodewright" has been upgraded.' }],
];
const answer = async () => {
  const text = args[0] === 'rest' ? args.at(-1) : args.join(' ');
  if (process.env.AZ_REFUSES !== undefined && new RegExp(process.env.AZ_REFUSES).test(text)) return refuse('(ServiceUnavailable) busy');
  if (process.env.AZ_HANGS !== undefined && new RegExp(process.env.AZ_HANGS).test(text)) await new Promise((done) => setTimeout(done, 60_000));
  if (process.env.AZ_NOTHING !== undefined && /^deployment sub show /.test(text)) return refuse('(DeploymentNotFound) Deployment x could not be found.');
  const found = known.find(([pattern]) => pattern.test(text));
  if (found !== undefined) return found[1] === null ? undefined : say(found[1]);
  const response = await fetch(${JSON.stringify(azure)} + text, { headers: { authorization: 'Bearer x' } });
  const body = await response.json();
  if (!response.ok) return refuse(response.statusText + '(' + JSON.stringify(body) + ')');
  if (body.type?.endsWith('/managedClusters')) Object.assign(body.properties, JSON.parse(process.env.AZ_CLUSTER ?? '{}'));
  say(body);
};
answer();
`;
  const file = join(folder, 'az');
  writeFileSync(file, script);
  chmodSync(file, 0o755);
  const azd = join(folder, 'azd');
  writeFileSync(azd, `#!${process.execPath}\n${NOTES(calls)}`);
  chmodSync(azd, 0o755);
  return { calls };
}
