import { RetryableError } from '../../ports/errors.ts';
import type { Kind, Refusal } from '../../ports/kubernetes.ts';
import { WRITE_DENIED, deniedBy, deniedKey, noteDenied, type About, type Unwritten } from './denied-condition.ts';
import { EVENT_LIVES_MS, type EventNote, publish } from './events.ts';
import type { Ports } from '../ports/ports.ts';

/** What is denied is tried again after so long where a try costs a request, and told again then. */
export const DENIED_MS: number = 2 * 60_000;

type TellPorts = Pick<Ports, 'kubernetes' | 'now' | 'told' | 'log'>;

/**
 * Tells of a write that was refused, once in `forMs`: a line in the log, an event on the object and on each of
 * `beside`, and the condition `WriteDenied` on those that carry conditions of ours. Never throws for what cannot be
 * told: a policy may forbid that as well.
 */
export async function tellDenied(
  ports: TellPorts,
  refusal: Refusal,
  beside: ReadonlyArray<About> = [],
  forMs: number = DENIED_MS,
): Promise<void> {
  const { act, kind, key, policy, reason } = refusal;
  const first = beside[0] ?? refusal;
  if (!ports.told.isNews(`${deniedKey(first)}/${act}/${kind}/${policy}`, ports.now(), forMs)) return;
  for (const { kind: other, key: own } of beside)
    ports.told.isNews(deniedKey({ kind: other, key: own }), ports.now(), forMs);
  ports.log('write-denied', { act, kind, name: key.name, namespace: key.namespace, policy, reason });
  const isThere = act !== 'create';
  const isSame = ({ kind: other, key: own }: About): boolean => other === kind && own.name === key.name;
  const objects = [...(isThere && !beside.some(isSame) ? [refusal] : []), ...beside];
  const why = { ...deniedBy(refusal), ...onceForAll(refusal) };
  await Promise.all(objects.map((about) => tellOn(ports, about, why, forMs)));
}

/**
 * As `tellDenied`, of a write that nobody denies and that has failed for so long that what it is for is left alone for
 * a while: each object that it is about says so, as those whose writes are denied.
 */
export async function tellFailing(ports: TellPorts, about: About, why: Unwritten, forMs: number): Promise<void> {
  if (!ports.told.isNews(deniedKey(about), ports.now(), forMs)) return;
  ports.log('write-failing', { kind: about.kind, name: about.key.name, why: why.message });
  await tellOn(ports, about, { ...why, dedupe: { key: why.reason, periodMs: EVENT_LIVES_MS } }, forMs);
}

async function tellOn(
  ports: TellPorts,
  { kind, key }: About,
  { reason, message, ...once }: Unwritten & Pick<EventNote, 'dedupe'>,
  forMs: number,
): Promise<void> {
  try {
    const found = await ports.kubernetes.get(kind, key);
    if (found === null) return;
    const { uid = '' } = found.metadata;
    const regarding = { apiVersion: apiVersions[kind], kind, name: key.name, namespace: key.namespace, uid };
    const note = { regarding, type: 'Warning', reason: WRITE_DENIED, message, ...once } as const;
    await Promise.all([
      publish(ports.kubernetes, note, ports.now()),
      noteDenied(ports, { kind, key }, { reason, message }, forMs),
    ]);
  } catch (error) {
    // The line in the log is left.
    if (!(error instanceof RetryableError)) throw error;
  }
}

/** Each try to create one has another name, so that its words differ: an event for each would hide all others. */
function onceForAll({ act, kind, policy }: Refusal): Pick<EventNote, 'dedupe'> {
  return act === 'create' ? { dedupe: { key: `${kind}/${policy ?? ''}`, periodMs: EVENT_LIVES_MS } } : {};
}

const apiVersions: Readonly<Record<Kind, string>> = {
  Node: 'v1',
  Pod: 'v1',
  Secret: 'v1',
  Event: 'v1',
  PersistentVolumeClaim: 'v1',
  NodeClaim: 'karpenter.sh/v1',
  NodePool: 'karpenter.sh/v1',
  NodeOverlay: 'karpenter.sh/v1alpha1',
  AKSNodeClass: 'karpenter.azure.com/v1beta1',
  CapacityBuffer: 'autoscaling.x-k8s.io/v1beta1',
  Lease: 'coordination.k8s.io/v1',
  VolumeAttachment: 'storage.k8s.io/v1',
  ResourceSlice: 'resource.k8s.io/v1',
  PodDisruptionBudget: 'policy/v1',
};
