import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { ensureHelm } from '../../../scripts/helm.ts';
import type { Document } from '../../kit/infra/access.ts';

export const root = resolve(import.meta.dirname, '../../..');
export const chartFolder = join(root, 'infra/chart');

/** Where the chart is installed in these tests. */
export const NAMESPACE = 'nodewright-system';

/** The user that the Functions app's identity is to the API server. */
export const FUNCTIONS_USER = '3f1c2d4e-5a6b-4c7d-8e9f-0a1b2c3d4e5f';

/** All that has to be given. */
export const needed = {
  functions: { objectId: FUNCTIONS_USER },
  workloadIdentity: { clientId: '11111111-2222-3333-4444-555555555555' },
  settings: {
    clusterName: 'my-cluster',
    serviceBusNamespace: 'my-namespace.servicebus.windows.net',
    blobServiceUri: 'https://myaccount.blob.core.windows.net',
  },
  image: { repository: 'myregistry.azurecr.io/nodewright-relay' },
} as const;

/** A Helm, or null and why these tests are left out. Builds it when it has to: minutes, once on a machine. */
export const helm = await ensureHelm();

/** A suite's title; where it is left out, with the reason. */
export function titleOf(suite: string): string {
  return helm.kind === 'found' ? suite : `${suite}: ${helm.reason}`;
}

/** What a program answered. */
export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Ten times what the chart renders with its custom resources. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

/** Runs a program to its end, with `input`. Never rejects for an exit code. */
export function answerOf(program: string, words: ReadonlyArray<string>, input = ''): Promise<Answer> {
  return new Promise((settle) => {
    const child = execFile(program, [...words], { maxBuffer: OUTPUT_BYTES_MAX }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      settle({ code, stdout, stderr });
    });
    child.stdin?.end(input);
  });
}

/** Values as a user gives them: JSON is YAML. What is given last counts; maps are merged. */
export type Values = Readonly<Record<string, unknown>>;

/** Runs Helm with the values on its stdin. */
export function runHelm(words: ReadonlyArray<string>, values: Values): Promise<Answer> {
  if (helm.kind === 'absent') throw new Error(helm.reason);
  return answerOf(helm.path, [...words, '--values', '-'], JSON.stringify(merged(needed, values)));
}

/** What Helm takes for the cluster's version where it asks none: a Helm built from source may know an old one only. */
const KUBE_VERSION = '1.36.0';

/** What the chart renders, or Helm's complaint. `chart`: the folder of another one. */
export function template(values: Values, chart: string = chartFolder): Promise<Answer> {
  const words = ['template', 'nodewright', chart, '--namespace', NAMESPACE, '--kube-version', KUBE_VERSION];
  return runHelm(words, values);
}

/** The objects that the chart renders. Throws Helm's complaint. */
export async function objects(values: Values, chart?: string): Promise<ReadonlyArray<Document>> {
  const { code, stdout, stderr } = await template(values, chart);
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).flatMap((document) => (document.toJS() as Document | null) ?? []);
}

/** As Helm does: maps are merged, anything else is replaced. */
export function merged(one: Values, other: Values): Values {
  const both = Object.entries(other).map(([key, value]) => {
    const before = one[key];
    return [key, isMap(before) && isMap(value) ? merged(before, value) : value] as const;
  });
  return { ...one, ...Object.fromEntries(both) };
}

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Runs `check` on a copy of the chart in which a template has `to` in place of `from`. */
export async function withBrokenChart<T>(
  [name, from, to]: readonly [template: string, from: string, to: string],
  check: (chart: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'broken-chart-'));
  try {
    cpSync(chartFolder, folder, { recursive: true });
    const path = join(folder, 'templates', `${name}.yaml`);
    const text = readFileSync(path, 'utf8');
    if (!text.includes(from)) throw new Error(`${name} has no ${from}`);
    writeFileSync(
      path,
      text.replace(from, () => to),
    );
    return await check(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
