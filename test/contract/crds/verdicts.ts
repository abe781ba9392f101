import { setTimeout as sleep } from 'node:timers/promises';
import { renderCrd } from '../../../shared/contract/api/schema/crd.ts';
import type { KindDefinition } from '../../../shared/contract/api/schema/kind.ts';
import { kinds } from '../../../shared/contract/api/parse.ts';
import { ApiError, isApiError, type Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import type { ApiObject, Case } from './cases/case.ts';

/** What an API server made of a case: the object it would store, or why it would not. */
export interface Verdict {
  readonly accepted: boolean;
  readonly stored: ApiObject | null;
  readonly message: string;
}

const CRD_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** A definition is served well within a second; a loaded machine gets a minute. */
const SERVED_MS = 60_000;
const POLL_MS = 50;
/** Enough to keep an API server of two cores busy. */
const CONCURRENCY = 8;

/** Creates the CRDs and waits until every version of every kind is served. */
export async function applyCrds(connection: Connection): Promise<void> {
  for (const kind of kinds) await connection.create(CRD_PATH, renderCrd(kind));
  const deadline = Date.now() + SERVED_MS;
  for (const kind of kinds) {
    for (const { name } of kind.versions) await waitUntilServed(connection, pathOf(kind, name), deadline);
  }
}

async function waitUntilServed(connection: Connection, path: string, deadline: number): Promise<void> {
  while (!(await isServed(connection, path))) {
    if (Date.now() > deadline) throw new Error(`${path} is not served`);
    await sleep(POLL_MS);
  }
}

async function isServed(connection: Connection, path: string): Promise<boolean> {
  try {
    await connection.get(path);
    return true;
  } catch (error) {
    if (error instanceof ApiError) return false;
    throw error;
  }
}

function pathOf({ group, plural, scope }: KindDefinition, version: string): string {
  return `/apis/${group}/${version}/${scope === 'Namespaced' ? 'namespaces/default/' : ''}${plural}`;
}

function collectionOf(object: ApiObject): string {
  const definition = kinds.find(({ kind }) => kind === object.kind);
  if (definition === undefined) throw new Error(`no kind ${object.kind}`);
  // Not by the object's own group: an object of a foreign group must be refused by our path, not by the lack of one.
  return pathOf(definition, object.apiVersion.split('/')[1] ?? '');
}

/** Asks the API server about every case, some at a time. The answers are in the order of the cases. */
export async function gatherVerdicts(
  connection: Connection,
  cases: ReadonlyArray<Case>,
): Promise<ReadonlyArray<Verdict>> {
  const verdicts = Array.from<Verdict>({ length: cases.length });
  const queue = cases.entries();
  const work = async (): Promise<void> => {
    for (const [index, each] of queue) {
      verdicts[index] = await judge(() =>
        each.previous === null
          ? connection.create(`${collectionOf(each.object)}?dryRun=All`, each.object)
          : change(connection, each.previous, each.object, index),
      );
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  return verdicts;
}

async function judge(ask: () => Promise<ApiObject>): Promise<Verdict> {
  try {
    return { accepted: true, stored: await ask(), message: '' };
  } catch (error) {
    if (error instanceof ApiError && [400, 404, 422].includes(error.code)) {
      return { accepted: false, stored: null, message: error.message };
    }
    throw error;
  }
}

interface Meta {
  readonly name: string;
  readonly resourceVersion: string;
}

function named(object: ApiObject, meta: object): ApiObject {
  const { metadata } = object;
  return { ...object, metadata: { ...(typeof metadata === 'object' ? metadata : {}), ...meta } };
}

async function change(connection: Connection, previous: ApiObject, next: ApiObject, index: number): Promise<ApiObject> {
  const name = `change-${index}`;
  const path = collectionOf(previous);
  const { metadata } = await connection.create<{ readonly metadata: Meta }>(path, named(previous, { name }));
  try {
    const { resourceVersion } = metadata;
    return await connection.update(`${path}/${name}?dryRun=All`, named(next, { name, resourceVersion }));
  } finally {
    await connection.remove(`${path}/${name}`).catch((error: unknown) => {
      if (!isApiError(error, 404)) throw error;
    });
  }
}
