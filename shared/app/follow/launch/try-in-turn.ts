import { annotation, label } from '../../../contract/names.ts';
import type { InstanceType } from '../../../core/model/catalog.ts';
import type { PlannedOffering } from '../../../core/model/plan.ts';
import type { NodeClaim } from '../../../kubernetes/manifest.ts';
import { nodeLabels } from '../../../core/launch/node-labels.ts';
import type { LaunchOutcome, Machine, RefusedOffering } from '../../../ports/cloud.ts';
import type { NodeClass } from '../../../ports/kubernetes.ts';
import { claimFacts } from '../../facts/claim-facts.ts';
import { ownLabels } from '../../facts/machine-labels.ts';
import type { Ports } from '../../ports/ports.ts';

/**
 * Offerings tried within one attempt. Each refusal costs a round trip of some 100 ms; twenty cover all zones of several
 * sizes, and the refusals are remembered for the next plan.
 */
const CANDIDATES_MAX = 20;

/**
 * For how long offerings are tried at one go. The refusals are remembered, so the next go begins where this one ended;
 * an execution ends with the slowest of the claims that it moves.
 */
const TRYING_MS = 4_000;

/**
 * Sizes that are tried before a refusal of a kind that nobody knows is taken for one of the request itself: what is
 * wrong with one size is seldom wrong with three, and a request that is wrong is not to be sent twenty times.
 */
const DOUBTS_MAX = 3;

/** What is known of a size in doubt once another is taken for the same request: it was the size. */
const SIZE_PAUSE_MS = 60 * 60_000;

/**
 * For how long the first size is passed over where none was taken. Were nothing remembered, the next plan would find it
 * as cheap as before; were all remembered, a mistake in one class would take sizes from all.
 */
const DOUBT_PAUSE_MS = 10 * 60_000;

/**
 * Sizes of one class that may be passed over so at a time: a class that Azure wants no machine of must not take sizes
 * from all.
 */
const DOUBTED_MAX = 5;

/** A claim that wants a machine, and what it may be, in the order to try. */
export interface Wanted {
  readonly claim: NodeClaim;
  readonly nodeClass: NodeClass;
  readonly types: ReadonlyArray<InstanceType>;
  readonly candidates: ReadonlyArray<PlannedOffering>;
}

/** What came of trying. */
export type Attempt =
  /** `isNew`: Azure has taken this request, and not an earlier one of the claim. */
  | { readonly kind: 'launched'; readonly isNew: boolean; readonly machine: Machine }
  | { readonly kind: 'exhausted'; readonly message: string }
  /** There are more to try, and others wait for their turn. */
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'rejected'; readonly reason: string; readonly message: string };

/** What Azure has not wanted in one attempt. */
interface Tried {
  readonly refused: Array<Refused>;
  readonly doubts: Array<Doubt>;
}

interface Refused extends RefusedOffering {
  readonly message: string;
}

/** An offering that Azure did not want for a reason that nobody here knows. */
interface Doubt {
  readonly offering: PlannedOffering;
  readonly reason: string;
  readonly message: string;
}

/**
 * Asks for one offering after the other until Azure takes one. What it refuses is remembered for all, whatever happens
 * then.
 */
export async function tryInTurn(ports: Ports, wanted: Wanted): Promise<Attempt> {
  const tried: Tried = { refused: [], doubts: [] };
  let attempt: Attempt | null = null;
  try {
    attempt = await goThrough(ports, wanted, tried);
    return attempt;
  } finally {
    const isOfSize = attempt?.kind === 'launched' && attempt.isNew;
    const doubted =
      tried.doubts.length > 0 && (isOfSize || mayDoubt(ports, wanted))
        ? judgeDoubts(tried.doubts, isOfSize, ports.now())
        : [];
    const refused = [...tried.refused, ...doubted];
    for (const one of refused) logRefusal(ports, wanted, one);
    if (refused.length > 0) await ports.catalogs.refuse(refused.map(toOffering));
  }
}

async function goThrough(ports: Ports, wanted: Wanted, tried: Tried): Promise<Attempt> {
  const { refused, doubts } = tried;
  const endMs = ports.now() + TRYING_MS;
  for (const offering of wanted.candidates) {
    if (refused.length >= CANDIDATES_MAX || doubts.length >= DOUBTS_MAX) break;
    if (isPointless(tried, offering)) continue;
    if (ports.now() >= endMs) return { kind: 'unfinished' };
    // The next is asked for only where this one is refused.
    const ended = note(tried, offering, await launchOne(ports, wanted, offering), ports.now());
    if (ended !== null) return ended;
  }
  const [doubt] = doubts;
  if (doubt !== undefined) return { kind: 'rejected', reason: doubt.reason, message: doubt.message };
  const all = refused.map(
    ({ offering: { instanceType, zone, capacityType }, reason }) =>
      `${instanceType} ${zone} ${capacityType}: ${reason}`,
  );
  const message = all.length === 0 ? 'no offering is available that meets the requirements' : all.join('; ');
  return { kind: 'exhausted', message: `no capacity: ${message}` };
}

/** Notes what Azure said of an offering; how the attempt ends where it ends with it. */
function note(
  { refused, doubts }: Tried,
  offering: PlannedOffering,
  outcome: LaunchOutcome,
  nowMs: number,
): Attempt | null {
  switch (outcome.kind) {
    case 'accepted':
    case 'exists':
      return { kind: 'launched', isNew: outcome.kind === 'accepted', machine: outcome.machine };
    case 'rejected':
      return outcome;
    case 'doubtful':
      doubts.push({ offering, reason: outcome.reason, message: outcome.message });
      return null;
    case 'unavailable': {
      const { scope, retryAfterMs, reason, message } = outcome;
      refused.push({ scope, offering, untilMs: nowMs + retryAfterMs, reason, message });
      return null;
    }
    default:
      return outcome satisfies never;
  }
}

function isPointless({ refused, doubts }: Tried, offering: PlannedOffering): boolean {
  return (
    refused.some((refusal) => covers(refusal, offering)) ||
    doubts.some((doubt) => doubt.offering.instanceType === offering.instanceType)
  );
}

/** Asked where something is in doubt; each yes counts. */
function mayDoubt({ told, now }: Ports, { nodeClass }: Wanted): boolean {
  const places = Array.from({ length: DOUBTED_MAX }, (_, place) => `doubted/${nodeClass.metadata.name}/${place}`);
  return places.some((place) => told.isNews(place, now(), DOUBT_PAUSE_MS));
}

function judgeDoubts(doubts: ReadonlyArray<Doubt>, isOfSize: boolean, nowMs: number): ReadonlyArray<Refused> {
  const untilMs = nowMs + (isOfSize ? SIZE_PAUSE_MS : DOUBT_PAUSE_MS);
  return (isOfSize ? doubts : doubts.slice(0, 1)).map((doubt) => ({ ...doubt, scope: 'size', untilMs }));
}

function toOffering({ scope, offering, untilMs, reason }: Refused): RefusedOffering {
  return { scope, offering, untilMs, reason };
}

function logRefusal(ports: Ports, { claim, types }: Wanted, { offering, scope, reason, message }: Refused): void {
  const { risk: _, ...place } = offering;
  const family = seriesOf(types, offering);
  ports.log('offering-refused', {
    ...claimFacts(claim),
    ...place,
    currency: ports.catalogs.currency,
    family,
    scope,
    reason,
    message,
  });
}

/** What Azure counts quota by, such as `Dasv5`; null of a size that is not in the catalog. */
function seriesOf(types: ReadonlyArray<InstanceType>, { instanceType }: PlannedOffering): string | null {
  return types.find(({ name }) => name === instanceType)?.labels[label.skuSeries]?.[0] ?? null;
}

async function launchOne(
  ports: Ports,
  { claim, nodeClass, types }: Wanted,
  offering: PlannedOffering,
): Promise<LaunchOutcome> {
  const instanceType = types.find(({ name }) => name === offering.instanceType);
  if (instanceType === undefined) {
    return { kind: 'rejected', reason: 'InstanceTypeResolutionFailed', message: `${offering.instanceType} is unknown` };
  }
  return ports.cloud.launch({
    claim: claim.metadata.name,
    nodePool: claim.metadata.labels?.[label.nodePool] ?? null,
    decision: claim.metadata.annotations?.[annotation.decision] ?? null,
    nodeClass,
    offering,
    instanceType,
    labels: { ...nodeLabels(instanceType, offering), ...ownLabels(claim, types) },
    taints: claim.spec.taints ?? [],
    startupTaints: claim.spec.startupTaints ?? [],
  });
}

/** Whether a refusal just received makes another candidate of this attempt pointless. */
function covers(refusal: RefusedOffering, offering: PlannedOffering): boolean {
  const sameType = refusal.offering.capacityType === offering.capacityType;
  const sameSize = refusal.offering.instanceType === offering.instanceType;
  switch (refusal.scope) {
    case 'region':
      return sameType;
    case 'spot':
      return offering.capacityType === 'spot';
    case 'size':
    case 'family':
      // Larger sizes of the family are the catalog's to mark: here only what is certain from the names.
      return sameSize && sameType;
    case 'zone':
      return sameSize && refusal.offering.zone === offering.zone;
    case 'offering':
      return sameSize && sameType && refusal.offering.zone === offering.zone;
    default:
      return refusal.scope satisfies never;
  }
}
