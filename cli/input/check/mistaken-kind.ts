import { kinds as ownKinds } from '../../../shared/contract/api/parse.ts';
import { groupOf, knownKinds } from './kinds.ts';
import { lettersApart } from '../../../shared/kubernetes/text/letters-apart.ts';

/** What an object was meant to be, as far as it can be told. */
export interface MeantKind {
  readonly apiVersion: string;
  readonly kind: string;
}

/**
 * The kind that was meant, for an object that no plan would depend on as it stands: `Deployement`, or a Deployment of
 * `app/v1`. Null for kinds that are others' own, such as a Job of `batch.volcano.sh`, and for all that is not like
 * ours.
 */
export function meantKind(apiVersion: string, kind: string): MeantKind | null {
  const group = groupOf(apiVersion);
  const meant = KINDS.find((known) => isMeant(known, group, kind));
  return meant === undefined ? null : meant;
}

const KINDS: ReadonlyArray<MeantKind> = [
  ...knownKinds().map(({ apiVersion, kind }) => ({ apiVersion, kind })),
  ...ownKinds.map(({ group, kind, versions }) => ({ apiVersion: `${group}/${versions[0]?.name ?? 'v1'}`, kind })),
];

function isMeant(known: MeantKind, group: string, kind: string): boolean {
  const own = groupOf(known.apiVersion);
  // Kubernetes' own groups have no dot or end in k8s.io; any other is somebody's, who may use the same names.
  if (kind === known.kind) return group !== own && (!group.includes('.') || lettersApart(group, own) <= MOST_APART);
  const most = known.kind.length < LONG ? 1 : MOST_APART;
  return group === own && lettersApart(kind.toLowerCase(), known.kind.toLowerCase()) <= most;
}

/** More letters apart than this, and it is another word; half of it for short ones. */
const MOST_APART = 2;
const LONG = 6;
