import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { format } from 'prettier';
import { ensureHelm } from './helm.ts';

const root = resolve(import.meta.dirname, '..');

/** The folder of the manifests for those who have no Helm. */
const manifestFolder = join(root, 'infra/kubernetes');
const chartFolder = join(root, 'infra/chart');

/** Placeholders for what a deployment fills in. */
const placeholders = {
  functions: { objectId: '00000000-0000-0000-0000-000000000000' },
  workloadIdentity: { clientId: '00000000-0000-0000-0000-000000000000' },
  settings: {
    clusterName: 'my-cluster',
    serviceBusNamespace: 'my-namespace.servicebus.windows.net',
    blobServiceUri: 'https://myaccount.blob.core.windows.net',
  },
  image: { repository: 'myregistry.azurecr.io/nodewright-relay' },
  namespace: { create: true },
  // They are in infra/chart/definitions.
  crds: { install: false },
};

/** One file of `infra/kubernetes`: which templates it has, and what is set for them beyond the placeholders. */
interface ManifestFile {
  readonly templates: ReadonlyArray<string>;
  readonly set: ReadonlyArray<string>;
  /** What has to be filled in, or known, before it is applied. */
  readonly note: string;
}

const objectId = `Put the object id (principal id) of the Functions app's managed identity in place of the zeros, which stand for nobody.`;

const files: Readonly<Record<string, ManifestFile>> = {
  '10-namespace.yaml': { templates: ['namespace'], set: [], note: '' },
  '20-functions.yaml': { templates: ['functions'], set: [], note: objectId },
  '30-bootstrap-tokens.yaml': { templates: ['bootstrap-tokens'], set: [], note: objectId },
  '35-planned-pods.yaml': { templates: ['planned-pods'], set: [], note: objectId },
  '40-relay.yaml': {
    templates: ['relay-rights', 'relay'],
    set: [],
    note: `Put the client id of the relay's identity in place of the zeros, and fill in the image and the first three variables of the container.`,
  },
  '41-relay-network.yaml': { templates: ['relay-network'], set: [], note: '' },
  '50-capacity-buffers.yaml': {
    templates: ['capacity-buffers'],
    set: ['settings.featureGates.capacityBuffer=true'],
    note: `${objectId} The relay's container needs FEATURE_GATES=CapacityBuffer=true.`,
  },
  'optional/60-pod-requests.yaml': {
    templates: ['pod-requests'],
    set: ['podRequests.mode=audit'],
    note: 'As it is, pods without requests are let in with a warning.',
  },
};

/**
 * The files of `infra/kubernetes` as the chart renders them with the Helm at `helm`, by name. Repeating gives the same.
 */
export async function renderManifestFiles(helm: string): Promise<ReadonlyMap<string, string>> {
  const rendered = new Map<string, string>();
  for (const [name, file] of Object.entries(files)) rendered.set(name, await renderFile(helm, file));
  return rendered;
}

async function renderFile(helm: string, { templates, set, note }: ManifestFile): Promise<string> {
  const flags = set.flatMap((one) => ['--set', one]);
  const place = ['--namespace', 'nodewright-system', '--kube-version', LEAST_KUBERNETES];
  const words = ['template', 'nodewright', chartFolder, ...place, '--values', '-'];
  const input = JSON.stringify(placeholders);
  const output = execFileSync(helm, [...words, ...flags], { input, encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX });
  const documents = documentsOf(output).filter(({ template }) => templates.includes(template));
  const header = `# Rendered from infra/chart by scripts/render-manifests.ts. Change it there.${note === '' ? '' : ` ${note}`}`;
  const text = [...wrap(header), '', documents.map(({ text: one }) => one).join('\n---\n')].join('\n');
  return format(text, { parser: 'yaml', printWidth: 120, singleQuote: true });
}

interface Rendered {
  readonly template: string;
  readonly text: string;
}

/** Helm puts kinds in its own order, and says above each object which template it is from. */
function documentsOf(output: string): ReadonlyArray<Rendered> {
  return output
    .split(/^---$/m)
    .map((document) => /^\s*# Source: \S+\/templates\/(\S+)\.yaml\n([^]*)$/.exec(document))
    .flatMap((found) => (found === null ? [] : [{ template: found[1] ?? '', text: (found[2] ?? '').trim() }]));
}

const LINE = 120;
/** The least that the chart takes. Helm asks no cluster here. */
const LEAST_KUBERNETES = '1.30.0';
/** Twenty times what the chart renders today. */
const OUTPUT_BYTES_MAX = 4 * 1024 * 1024;

/** A comment in lines that fit. */
function wrap(comment: string): ReadonlyArray<string> {
  const lines: Array<string> = [];
  for (const word of comment.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= LINE) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(last === undefined ? word : `# ${word}`);
  }
  return lines;
}

/** Writes `infra/kubernetes`. Without a Helm it says so and leaves the files as they are. */
export async function writeManifests(): Promise<void> {
  const helm = await ensureHelm();
  if (helm.kind === 'absent') {
    console.warn(`infra/kubernetes is left as it is: ${helm.reason}`);
    return;
  }
  for (const [name, content] of await renderManifestFiles(helm.path)) {
    const path = join(manifestFolder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
  }
}

if (import.meta.main) await writeManifests();
