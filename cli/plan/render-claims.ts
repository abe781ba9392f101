import type { InstanceType } from '../../shared/core/model/catalog.ts';
import { allocatableOf } from '../../shared/core/model/allocatable.ts';
import { parseAmounts } from '../../shared/kubernetes/text/quantity.ts';
import type { Plan, PlannedClaim } from '../../shared/core/model/plan.ts';
import { overlaidCatalog } from '../../shared/core/offerings/overlays.ts';
import type { ProvisioningInput } from '../../shared/core/model/provisioning-input.ts';
import { renderUsd } from '../../shared/core/quantity/render-usd.ts';
import { PAGE_WIDTH } from './page-width.ts';
import type { PlanDocument } from '../documents/plan-format.ts';
import { sizeText, zoneText } from './offering-text.ts';
import { cutColumn, textTable, type Align } from './text-table.ts';

/** More claims than this are told by size, not one by one: nobody reads a thousand lines. */
const MOST_ROWS = 30;

/** The planned claims as a table: one line each, or one for each kind of node where they are many. */
export function renderClaims(plan: Plan, { nodeClaims, summary }: PlanDocument, input: ProvisioningInput): string {
  if (nodeClaims.length === 0) return '';
  const types = typesByPool(input);
  const nodes = nodeClaims.flatMap((claim, index): ReadonlyArray<Row> => {
    const planned = plan.claims[index];
    const type = types.get(claim.nodePool)?.get(claim.instanceType);
    if (planned === undefined || type === undefined) return [];
    const { nodePool, instanceType, zone, capacityType, pods } = claim;
    const place = { nodePool, size: sizeText(instanceType), zone: zoneText(zone), capacityType };
    const amounts = { used: parseAmounts(planned.requests, 'up'), has: parseAmounts(allocatableOf(type), 'down') };
    return [{ name: claim.name, ...place, price: planned.offering.price, pods: pods.length, nodes: 1, ...amounts }];
  });
  const titles = commonTitles(summary.currency);
  return nodes.length <= MOST_ROWS ? eachClaim(nodes, titles) : byKind(nodes, titles);
}

interface Row {
  readonly name: string;
  readonly nodePool: string;
  readonly size: string;
  readonly zone: string;
  readonly capacityType: PlannedClaim['offering']['capacityType'];
  readonly price: number;
  readonly pods: number;
  readonly nodes: number;
  readonly used: ReadonlyMap<string, number>;
  readonly has: ReadonlyMap<string, number>;
}

function commonTitles(currency: string): ReadonlyArray<string> {
  return ['SIZE', 'ZONE', 'TYPE', `${currency === 'USD' ? '$' : currency}/HOUR`, 'PODS', 'CPU', 'MEM'];
}

const ALIGNS: ReadonlyArray<Align> = ['left', 'left', 'left', 'right', 'right', 'right', 'right'];

function common({ size, zone, capacityType, price, pods, used, has }: Row): ReadonlyArray<string> {
  return [
    size,
    zone,
    capacityType,
    renderUsd(price),
    String(pods),
    share(used, has, 'cpu'),
    share(used, has, 'memory'),
  ];
}

/** What pods and daemons ask of what nodes have for them, in whole percent. */
function share(used: Row['used'], has: Row['has'], resource: string): string {
  const whole = has.get(resource) ?? 0;
  return whole === 0 ? '' : `${Math.round((100 * (used.get(resource) ?? 0)) / whole)}%`;
}

function eachClaim(nodes: ReadonlyArray<Row>, shared: ReadonlyArray<string>): string {
  const titles = ['NODE', ...shared];
  const rows = nodes.map((row) => [row.name, ...common(row)]);
  return textTable(titles, cutColumn(titles, rows, { column: 0, width: PAGE_WIDTH }), ['left', ...ALIGNS]);
}

function byKind(nodes: ReadonlyArray<Row>, shared: ReadonlyArray<string>): string {
  const titles = ['NODES', 'NODEPOOL', ...shared];
  const kinds = [
    ...Map.groupBy(nodes, ({ nodePool, size, zone, capacityType }) => [nodePool, size, zone, capacityType].join(' ')),
  ].map(([, rows]) => rows.reduce(together));
  const rows = kinds
    .toSorted((a, b) => b.price - a.price || b.nodes - a.nodes)
    .map((row) => [String(row.nodes), row.nodePool, ...common(row)]);
  const cut = cutColumn(titles, rows, { column: 1, width: PAGE_WIDTH });
  return textTable(titles, cut, ['right', 'left', ...ALIGNS]);
}

function together(a: Row, b: Row): Row {
  const sum = (one: Row['used'], other: Row['used']): Row['used'] =>
    new Map([...one].map(([resource, amount]) => [resource, amount + (other.get(resource) ?? 0)]));
  return {
    ...a,
    price: a.price + b.price,
    pods: a.pods + b.pods,
    nodes: a.nodes + b.nodes,
    used: sum(a.used, b.used),
    has: sum(a.has, b.has),
  };
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
