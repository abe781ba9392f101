import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { watchedResources } from '../../../relay/watch/resources.ts';
import { createKubernetes } from '../../../shared/adapters/kubernetes/kubernetes.ts';
import { generationLease, relayLease } from '../../../shared/contract/names.ts';
import { apiGroups } from '../../../shared/contract/snapshot/api-groups.ts';
import { snapshotResources } from '../../../shared/contract/snapshot/builder.ts';
import type { Kind } from '../../../shared/ports/kubernetes.ts';

const root = resolve(import.meta.dirname, '../../..');

/** The folder of the manifests. */
export const manifestFolder = join(root, 'infra/kubernetes');

/**
 * One thing that may be done, or is done, to the API. Written as `verb group/resource[/subresource]
 * [namespace/][name]`.
 */
export type Access = string;

interface Rule {
  readonly apiGroups: ReadonlyArray<string>;
  readonly resources: ReadonlyArray<string>;
  readonly verbs: ReadonlyArray<string>;
  readonly resourceNames?: ReadonlyArray<string>;
}

/** The parts of a manifest that these tests read. */
export interface Document {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: ReadonlyArray<Rule>;
  readonly spec?: unknown;
  readonly roleRef?: { readonly kind: string; readonly name: string };
  readonly subjects?: ReadonlyArray<{ readonly kind: string; readonly name: string }>;
}

/** All objects of `infra/kubernetes`, in the order in which kubectl applies them. */
export const documents: ReadonlyArray<Document> = readdirSync(manifestFolder)
  .filter((name) => name.endsWith('.yaml'))
  .toSorted()
  .flatMap((name) => parseAllDocuments(readFileSync(join(manifestFolder, name), 'utf8')))
  .map((document) => document.toJS() as Document);

/** Where an access is: in one namespace or all (`null`), to one object or all. */
interface Where {
  readonly namespace: string | null;
  readonly name: string | null;
}

const everywhere: Where = { namespace: null, name: null };

function render(verb: string, resource: string, { namespace, name }: Where): Access {
  return `${verb} ${resource}${namespace === null ? '' : ` in ${namespace}`}${name === null ? '' : ` named ${name}`}`;
}

/** What the manifests let the subject of this name do, those of `infra/kubernetes` unless others are given. */
export function granted(subject: string, of: ReadonlyArray<Document> = documents): ReadonlyArray<Access> {
  const bindings = of.filter(({ subjects }) => subjects?.some(({ name }) => name === subject) === true);
  return bindings.flatMap(({ roleRef, metadata }) => {
    const role = of.find(
      (one) =>
        one.kind === roleRef?.kind &&
        one.metadata.name === roleRef.name &&
        one.metadata.namespace === metadata.namespace,
    );
    const namespace = metadata.namespace ?? null;
    return (role?.rules ?? []).flatMap((rule) => accessesOf(rule, namespace));
  });
}

function accessesOf(
  { apiGroups: groups, resources, verbs, resourceNames }: Rule,
  namespace: string | null,
): ReadonlyArray<Access> {
  const names = resourceNames ?? [null];
  return groups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) => names.map((name) => render(verb, `${group}/${resource}`, { namespace, name }))),
    ),
  );
}

/** Kinds whose accesses are bound to a place; all others are used everywhere. */
const places: Partial<Record<Kind, string>> = { Secret: 'kube-system', Lease: 'nodewright-system' };

const verbs: Readonly<Record<string, { readonly verb: string; readonly subresource: string }>> = {
  get: { verb: 'get', subresource: '' },
  list: { verb: 'list', subresource: '' },
  create: { verb: 'create', subresource: '' },
  patch: { verb: 'patch', subresource: '' },
  patchStatus: { verb: 'patch', subresource: '/status' },
  delete: { verb: 'delete', subresource: '' },
};

/** Calls whose kind is a parameter, by file: what the parameter can be. */
const parameters: Readonly<Record<string, ReadonlyArray<Kind>>> = {
  'terminate.ts': ['Node', 'NodeClaim'],
  'denied-condition.ts': ['NodeClaim', 'NodePool', 'AKSNodeClass'],
  'tell-denied.ts': ['Node', 'NodeClaim', 'NodePool', 'AKSNodeClass', 'Pod', 'CapacityBuffer', 'NodeOverlay'],
  'with-lost-events.ts': ['Event'],
};

const call = /kubernetes\s*\.\s*(get|list|create|patch|patchStatus|delete|evict)\(\s*(?:'([A-Za-z]+)'|(kind)\b)?/g;

/** What the Functions app asks of the API server: read from the calls in its source, and from what a snapshot lists. */
export async function askedByFunctions(): Promise<ReadonlyArray<Access>> {
  const calls = sources().flatMap(({ name, text }) =>
    [...text.matchAll(call)].flatMap(([, method = '', kind, parameter]) => {
      if (method === 'evict') return [{ kind: 'Pod' as const, verb: 'create', subresource: '/eviction' }];
      const kinds = parameter === undefined ? [kind as Kind | undefined] : (parameters[name] ?? [undefined]);
      return kinds.map((one) => {
        if (one === undefined) throw new Error(`${name} calls ${method} with a kind that this test cannot tell`);
        return { kind: one, verb: verbs[method]?.verb ?? '', subresource: verbs[method]?.subresource ?? '' };
      });
    }),
  );
  const resources = new Map(
    await Promise.all(
      [...new Set(calls.map(({ kind }) => kind))].map(async (kind) => [kind, await resourceOf(kind)] as const),
    ),
  );
  const direct = calls.map(({ kind, verb, subresource }) => {
    // RBAC cannot bind a creation to a name.
    const name = kind === 'Lease' && verb !== 'create' ? generationLease : null;
    return render(verb, `${resources.get(kind) ?? ''}${subresource}`, { namespace: places[kind] ?? null, name });
  });
  const listed = snapshotResources({ buffers: true }).map((resource) =>
    render('list', `${groupOf(apiGroups[resource])}/${resource}`, everywhere),
  );
  return [...new Set([...direct, ...listed])].toSorted();
}

/** What the relay asks: lists and watches, and its Lease. */
export function askedByRelay(): ReadonlyArray<Access> {
  const watched = watchedResources({ buffers: true }).flatMap(({ resource, group }) =>
    ['list', 'watch'].map((verb) => render(verb, `${groupOf(group)}/${resource}`, everywhere)),
  );
  const namespace = 'nodewright-system';
  const lease = 'coordination.k8s.io/leases';
  return [
    ...watched,
    render('create', lease, { namespace, name: null }),
    ...['get', 'update'].map((verb) => render(verb, lease, { namespace, name: relayLease })),
  ].toSorted();
}

function sources(): ReadonlyArray<{ readonly name: string; readonly text: string }> {
  return ['shared/app', 'shared/adapters'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => ({
        name: name.split(/[\\/]/).at(-1) ?? '',
        text: readFileSync(join(root, folder, name), 'utf8'),
      })),
  );
}

/** `group/plural` of a kind, as the adapter asks for it. */
async function resourceOf(kind: Kind): Promise<string> {
  let asked = '';
  const kubernetes = createKubernetes((request) => {
    asked = request.path;
    return Promise.resolve({ status: 404, body: null });
  });
  await kubernetes.get(kind, { name: 'x', namespace: 'y' });
  const path = asked.replace('/namespaces/y', '').replace(/\/x$/, '');
  return `${groupOf(path.slice(0, path.lastIndexOf('/')))}/${path.slice(path.lastIndexOf('/') + 1)}`;
}

/** `/api/v1` is the group without a name, `/apis/apps/v1` is `apps`. */
export function groupOf(path: string): string {
  return path.startsWith('/apis/') ? (path.split('/')[2] ?? '') : '';
}
