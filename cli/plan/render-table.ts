import type { InstanceType } from '../../shared/core/model/catalog.ts';
import { allocatableOf } from '../../shared/core/quantity/allocatable.ts';
import { parseAmounts } from '../../shared/core/quantity/quantity.ts';
import type { LeftPod, Plan, PlannedClaim } from '../../shared/core/plan/plan.ts';
import type { Refusal } from '../../shared/core/plan/refusal.ts';
import { renderRefusal } from '../../shared/core/plan/render-refusal.ts';
import { overlaidCatalog } from '../../shared/core/scheduling/overlays.ts';
import type { ProvisioningInput } from '../../shared/core/scheduling/provisioning-input.ts';
import type { PlanDocument } from './plan-format.ts';
import type { Solved } from './solve.ts';
import { textTable } from './text-table.ts';

/** The plan for people. `prices` says where they are from. */
export function renderTable(solved: Solved, document: PlanDocument, input: ProvisioningInput, prices: string): string {
  const { plan } = solved;
  const parts = [
    claimsPart(plan, document, input),
    nominationsPart(document),
    leftPart(plan.left),
    summaryPart(plan, document, prices),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

const TITLES = ['NODECLAIM', 'NODEPOOL', 'SIZE', 'ZONE', 'CAPACITY', '$/HOUR', 'PODS', 'CPU', 'MEMORY'];

function claimsPart(plan: Plan, { nodeClaims }: PlanDocument, input: ProvisioningInput): string {
  if (nodeClaims.length === 0) return '';
  const types = typesByPool(input);
  const rows = nodeClaims.map((claim, index) => {
    const planned = plan.claims[index];
    const type = types.get(claim.nodePool)?.get(claim.instanceType);
    return [
      claim.name,
      claim.nodePool,
      claim.instanceType,
      claim.zone,
      claim.capacityType,
      claim.pricePerHour,
      String(claim.pods.length),
      usedShare(planned, type, 'cpu'),
      usedShare(planned, type, 'memory'),
    ];
  });
  return textTable(TITLES, rows, ['left', 'left', 'left', 'left', 'left', 'right', 'right', 'right', 'right']);
}

function typesByPool(input: ProvisioningInput): ReadonlyMap<string, ReadonlyMap<string, InstanceType>> {
  const lists = new Map<ReadonlyArray<InstanceType>, ReadonlyMap<string, InstanceType>>();
  const byName = (types: ReadonlyArray<InstanceType>): ReadonlyMap<string, InstanceType> => {
    const known = lists.get(types) ?? new Map(types.map((type) => [type.name, type]));
    lists.set(types, known);
    return known;
  };
  return new Map([...overlaidCatalog(input)].map(([pool, types]) => [pool, byName(types)]));
}

/** What pods and daemons ask of what the node has for them, in whole percent. */
function usedShare(claim: PlannedClaim | undefined, type: InstanceType | undefined, resource: string): string {
  if (claim === undefined || type === undefined) return '';
  const has = parseAmounts(allocatableOf(type), 'down').get(resource) ?? 0;
  const used = parseAmounts(claim.requests, 'up').get(resource) ?? 0;
  return has === 0 ? '' : `${Math.round((100 * used) / has)} %`;
}

function nominationsPart({ nominations }: PlanDocument): string {
  if (nominations.length === 0) return '';
  const rows = nominations.map(({ node, pods }) => [node, String(pods.length), namesOf(pods)]);
  return textTable(['EXISTING NODE', 'PODS', 'NAMES'], rows, ['left', 'right', 'left']);
}

/** As many names as fit a line; `-o json` has them all. */
const NAMES_SHOWN = 3;

function namesOf(names: ReadonlyArray<string>): string {
  const more = names.length - NAMES_SHOWN;
  return more <= 0 ? names.join(', ') : `${names.slice(0, NAMES_SHOWN).join(', ')} and ${more} more`;
}

/** Pods that are left for the same reasons are told together. */
function leftPart(left: ReadonlyArray<LeftPod>): string {
  if (left.length === 0) return '';
  const groups = Map.groupBy(left, ({ refusals }) => JSON.stringify(refusals));
  const texts = [...groups.values()].map((pods) => {
    const names = namesOf(pods.map(({ pod }) => pod.name));
    const reasons = (pods[0]?.refusals ?? []).map(renderReason);
    return [`  ${names}`, ...reasons.map((reason) => `    ${reason}`)].join('\n');
  });
  return [`Without a place: ${renderCount(left.length, 'pod')}`, ...texts].join('\n');
}

function renderReason(refusal: Refusal): string {
  const { nodePool } = refusal;
  const { detail, fix } = renderRefusal(refusal);
  return `${nodePool === null ? '' : `NodePool ${nodePool}: `}${detail}. To mend it: ${fix}.`;
}

function renderCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The hours that Azure's own calculator takes for a month. */
const HOURS_PER_MONTH = 730;

function summaryPart(plan: Plan, { summary, nodeClaims, nominations }: PlanDocument, prices: string): string {
  const { pods, costPerHour, solveMs } = summary;
  const placed = [
    `${renderCount(pods.placed, 'pod')} on ${renderCount(nodeClaims.length, 'new node')}`,
    `${pods.nominated} on ${renderCount(nominations.length, 'existing node')}`,
    `${pods.left} left`,
  ];
  const month = ((plan.cost * HOURS_PER_MONTH) / 1e6).toFixed(2);
  return [
    `${placed.join(', ')}.`,
    `New nodes cost $${costPerHour} per hour, $${month} per month (${HOURS_PER_MONTH} h). ${renderGap(plan, summary)}`,
    `Planned in ${solveMs} ms. Prices: ${prices}.`,
  ].join('\n');
}

function renderGap({ cost, lowerBound }: Plan, { lowerBoundPerHour, gap }: PlanDocument['summary']): string {
  if (cost === 0) return 'Nothing is to be bought.';
  if (cost === lowerBound) return 'No plan for these pods costs less: this is proved.';
  if (gap === null) return 'How little it could cost is not known.';
  return `No plan for these pods costs less than $${lowerBoundPerHour}: this one is at most ${percent(gap)} above the cheapest.`;
}

/** Rounded up, so that the promise holds. */
function percent(share: number): string {
  const hundredths = Math.ceil(share * 10_000 - 1e-6);
  return `${(hundredths / 100).toFixed(2)} %`;
}
