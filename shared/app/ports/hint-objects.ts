import type { FollowedObject, ObjectsHint } from '../../contract/messages/messages.ts';
import type { Ports } from './ports.ts';

/**
 * Asks for a look at `objects`, at once or at `atMs` (since the epoch). `reason` is for people who read logs; a second
 * request for the same objects with the same `occasion` within ten minutes is dropped.
 */
export async function hintObjects(
  ports: Pick<Ports, 'cluster' | 'hints'>,
  objects: ReadonlyArray<FollowedObject>,
  {
    reason,
    occasion,
    atMs = null,
  }: { readonly reason: string; readonly occasion: string; readonly atMs?: number | null },
): Promise<void> {
  if (objects.length === 0) return;
  const hint = { kind: 'objects', version: 1, cluster: ports.cluster, objects, reason } as const;
  await ports.hints.send([{ hint, atMs, key: occasion }]);
}

/**
 * Asks for machines for NodeClaims that have just been created, at once or at `atMs` (since the epoch). Doing it twice
 * within ten minutes is doing it once.
 */
export async function hintLaunches(
  ports: Pick<Ports, 'cluster' | 'hints'>,
  names: ReadonlyArray<string>,
  atMs: number | null = null,
): Promise<void> {
  const hint = launchesHint(ports.cluster, names);
  if (names.length > 0) await ports.hints.send([{ hint, atMs, key: hint.reason }]);
}

/** The message that asks for machines for NodeClaims of these names. */
export function launchesHint(cluster: string, names: ReadonlyArray<string>): ObjectsHint {
  return { kind: 'launches', version: 1, cluster, objects: claimsNamed(names), reason: 'created' };
}

/** The NodeClaims of these names, as hints name them. */
export function claimsNamed(names: ReadonlyArray<string>): ReadonlyArray<FollowedObject> {
  return names.map((name) => ({ kind: 'NodeClaim', name }));
}
