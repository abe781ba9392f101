import { RefusedError, RetryableError } from '../../ports/errors.ts';
import type {
  CreateOutcome,
  EvictOutcome,
  Key,
  Kind,
  Kinds,
  Kubernetes,
  Refusal,
  Refused,
  WriteOutcome,
} from '../../ports/kubernetes.ts';
import { policyIn } from './policy-in.ts';
import type { Answer, Transport } from './transport.ts';

/** Where each kind lives in the API. */
const places: Readonly<Record<Kind, { readonly root: string; readonly plural: string; readonly namespaced: boolean }>> =
  {
    Node: { root: '/api/v1', plural: 'nodes', namespaced: false },
    Pod: { root: '/api/v1', plural: 'pods', namespaced: true },
    Secret: { root: '/api/v1', plural: 'secrets', namespaced: true },
    Event: { root: '/api/v1', plural: 'events', namespaced: true },
    NodeClaim: { root: '/apis/karpenter.sh/v1', plural: 'nodeclaims', namespaced: false },
    NodePool: { root: '/apis/karpenter.sh/v1', plural: 'nodepools', namespaced: false },
    CapacityBuffer: { root: '/apis/autoscaling.x-k8s.io/v1beta1', plural: 'capacitybuffers', namespaced: true },
    NodeOverlay: { root: '/apis/karpenter.sh/v1alpha1', plural: 'nodeoverlays', namespaced: false },
    AKSNodeClass: { root: '/apis/karpenter.azure.com/v1beta1', plural: 'aksnodeclasses', namespaced: false },
    Lease: { root: '/apis/coordination.k8s.io/v1', plural: 'leases', namespaced: true },
    VolumeAttachment: { root: '/apis/storage.k8s.io/v1', plural: 'volumeattachments', namespaced: false },
    PersistentVolumeClaim: { root: '/api/v1', plural: 'persistentvolumeclaims', namespaced: true },
    ResourceSlice: { root: '/apis/resource.k8s.io/v1', plural: 'resourceslices', namespaced: false },
    PodDisruptionBudget: { root: '/apis/policy/v1', plural: 'poddisruptionbudgets', namespaced: true },
  };

/** Objects per page of a list: what Kubernetes' own clients ask for. */
const PAGE = 500;

/**
 * Pages of one list at most: 500,000 objects, three times what we are sized for. More is a server that repeats itself.
 */
const PAGES_MAX = 1000;

const MERGE_PATCH = 'application/merge-patch+json';

/** The port over a real API server. */
export function createKubernetes(transport: Transport): Kubernetes {
  return {
    get: async (kind, key) => {
      const answer = await transport({ method: 'GET', path: pathOf(kind, key) });
      if (answer.status === 404) return null;
      return objectOf(answer, `reading ${kind} ${key.name}`);
    },
    list: (kind, selectors) => list(transport, kind, selectors ?? {}),
    create: async (kind, object) => {
      const answer = await transport({ method: 'POST', path: createPath(kind, object), body: object });
      return toCreateOutcome(answer, { act: 'create', kind, key: keyOf(object) });
    },
    patch: (kind, key, patch) => write(transport, { act: 'patch', kind, key }, patch),
    patchStatus: (kind, key, patch) => write(transport, { act: 'patch the status of', kind, key }, patch),
    delete: async (kind, key, options = {}) => {
      const { uid, resourceVersion, gracePeriodSeconds, isTrial = false } = options;
      // What is undefined is left out of the JSON.
      const preconditions = { uid, resourceVersion };
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        ...(uid === undefined && resourceVersion === undefined ? {} : { preconditions }),
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
        // In the query it would be passed over: there is a body.
        ...(isTrial ? { dryRun: ['All'] } : {}),
      };
      const answer = await transport({ method: 'DELETE', path: pathOf(kind, key), body });
      if (isDenied(answer)) throw new RefusedError(refusalOf(answer, { act: 'delete', kind, key }));
      // 409 for a uid alone: it is another object's, and ours is gone.
      if (answer.status === 409) return resourceVersion === undefined ? 'not-found' : 'conflict';
      if (answer.status === 404) return 'not-found';
      if (answer.status >= 400) throw new RefusedError(refusalOf(answer, { act: 'delete', kind, key }));
      return 'deleted';
    },
    evict: (pod) => evict(transport, pod),
    serverVersion: async () => {
      const { gitVersion } = objectOf<{ readonly gitVersion?: string }>(
        await transport({ method: 'GET', path: '/version' }),
        'reading the version',
      );
      return (gitVersion ?? '').replace(/^v/, '').replace(/[-+].*$/, '');
    },
  };
}

async function list<K extends Kind>(
  transport: Transport,
  kind: K,
  selectors: { readonly labels?: string; readonly fields?: string; readonly mayBeOld?: boolean },
): Promise<ReadonlyArray<Kinds[K]>> {
  const { root, plural } = places[kind];
  const found: Array<Kinds[K]> = [];
  let next = '';
  for (let page = 0; page < PAGES_MAX; page++) {
    const query = new URLSearchParams(selectors.mayBeOld === true ? { resourceVersion: '0' } : { limit: String(PAGE) });
    if (selectors.labels !== undefined) query.set('labelSelector', selectors.labels);
    if (selectors.fields !== undefined) query.set('fieldSelector', selectors.fields);
    if (next !== '') query.set('continue', next);
    // Each page names the next.
    const answer = await transport({ method: 'GET', path: `${root}/${plural}?${query.toString()}` });
    if (answer.status === 410) throw new RetryableError(`listing ${plural}: the list changed while it was read`);
    const body = objectOf<{
      readonly items?: ReadonlyArray<Kinds[K]>;
      readonly metadata?: { readonly continue?: string };
    }>(answer, `listing ${plural}`);
    found.push(...(body.items ?? []));
    next = body.metadata?.continue ?? '';
    if (next === '') return found;
  }
  throw new RetryableError(`listing ${plural}: more than ${PAGES_MAX} pages`);
}

/** A write that was asked for. */
type Write = Pick<Refusal, 'act' | 'kind' | 'key'>;

async function write<T>(transport: Transport, asked: Write, patch: object): Promise<WriteOutcome<T>> {
  const path = `${pathOf(asked.kind, asked.key)}${asked.act === 'patch' ? '' : '/status'}`;
  const answer = await transport({ method: 'PATCH', path, body: patch, contentType: MERGE_PATCH });
  // Whoever denies it chooses the status, which says nothing then.
  if (isDenied(answer)) return refused(answer, asked);
  if (answer.status === 404) return { kind: 'not-found' };
  if (answer.status === 409) return { kind: 'conflict' };
  if (answer.status >= 400) return refused(answer, asked);
  return { kind: 'written', object: answer.body as T };
}

async function evict(
  transport: Transport,
  { namespace, name, uid }: { readonly namespace: string; readonly name: string; readonly uid: string },
): Promise<EvictOutcome> {
  const answer = await transport({
    method: 'POST',
    path: `${pathOf('Pod', { namespace, name })}/eviction`,
    body: {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name, namespace },
      deleteOptions: { preconditions: { uid } },
    },
  });
  const { status } = answer;
  const reason = reasonOf(answer);
  const refusal = refusalOf(answer, { act: 'evict', kind: 'Pod', key: { namespace, name } });
  if (isDenied(answer)) return { kind: 'blocked', status, reason, refusal };
  if (status === 404 || status === 409) return { kind: 'gone', status };
  // A budget's answers are 429, or 500 where there are two: they are no refusal, and pass.
  if (status >= 400) return { kind: 'blocked', status, reason, refusal: status < 429 ? refusal : null };
  return { kind: 'evicted', status };
}

function toCreateOutcome<T>(answer: Answer, asked: Write): CreateOutcome<T> {
  if (isDenied(answer)) return refused(answer, asked);
  if (answer.status === 409) return { kind: 'exists' };
  if (answer.status >= 400) return refused(answer, asked);
  return { kind: 'created', object: answer.body as T };
}

function isDenied(answer: Answer): boolean {
  return answer.status >= 400 && policyIn(reasonOf(answer)) !== null;
}

function refused(answer: Answer, asked: Write): Refused {
  return { kind: 'refused', reason: reasonOf(answer), refusal: refusalOf(answer, asked) };
}

function refusalOf(answer: Answer, asked: Write): Refusal {
  const reason = reasonOf(answer);
  // What is forbidden and is no right of ours, is by some admission of the API server's.
  const policy = policyIn(reason) ?? (answer.status === 403 ? 'admission control of the API server' : null);
  return { ...asked, reason, policy };
}

/** The caller says what the API server answers with; it has validated it. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the border between JSON and types
function objectOf<T>(answer: Answer, doing: string): T {
  if (answer.status >= 400 || answer.body === null || typeof answer.body !== 'object') {
    throw new RetryableError(`${doing}: ${answer.status} ${reasonOf(answer)}`);
  }
  return answer.body as T;
}

function reasonOf(answer: Answer): string {
  const { message } = (answer.body ?? {}) as { readonly message?: string };
  return message ?? `HTTP ${answer.status}`;
}

function pathOf(kind: Kind, { name, namespace }: Key): string {
  return `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
}

function createPath(kind: Kind, object: object): string {
  return collectionPath(kind, keyOf(object).namespace);
}

function keyOf(object: object): Key {
  const { metadata } = object as { readonly metadata?: { readonly name?: string; readonly namespace?: string } };
  return { name: metadata?.name ?? '', namespace: metadata?.namespace ?? null };
}

function collectionPath(kind: Kind, namespace: string | null): string {
  const { root, plural, namespaced } = places[kind];
  return namespaced
    ? `${root}/namespaces/${encodeURIComponent(namespace ?? 'default')}/${plural}`
    : `${root}/${plural}`;
}
