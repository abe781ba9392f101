import type { Readable } from 'node:stream';
import { evictionCosts } from '../../shared/app/gather/eviction-costs.ts';
import { knownDevices } from '../../shared/app/gather/known-devices.ts';
import { plannedOfferingOf } from '../../shared/app/facts/machine-labels.ts';
import { poolsByProvider } from '../../shared/contract/own-class.ts';
import type { Snapshot } from '../../shared/contract/snapshot/parse.ts';
import type { DeviceTemplates } from '../../shared/core/model/device-templates.ts';
import type { NodePool } from '../../shared/kubernetes/manifest.ts';
import type { Plan } from '../../shared/core/model/plan.ts';
import { renderWanted } from '../../shared/core/telling/reasons/render-left-reason.ts';
import { activeBuffers, bufferDemand, bufferName } from '../../shared/core/present/buffer-demand.ts';
import { contradictionOfPool } from '../../shared/core/telling/reasons/contradiction.ts';
import { podRequests } from '../../shared/core/rules/pod-requests.ts';
import {
  DEFAULT_WORK,
  type DeviceSupport,
  KARPENTER_POLICY,
  type InFlightClaim,
  type ProvisioningInput,
} from '../../shared/core/model/provisioning-input.ts';
import { catalogsFrom, catalogsOf, type PoolCatalogs } from '../catalog/pool-catalogs.ts';
import { readCatalog } from '../catalog/read-catalog.ts';
import { DEFAULT_REGION, readShippedSizes } from '../catalog/shipped-sizes.ts';
import type { PlanOptions } from '../command.ts';
import { buildCluster } from '../input/build-cluster.ts';
import { checkObjects } from '../input/check/check-objects.ts';
import { implyPods } from '../input/imply-pods.ts';
import { isUsable, refuseMissingClasses } from '../input/missing-classes.ts';
import { readObjects } from '../input/objects.ts';
import { readDocuments } from '../input/read/read-documents.ts';
import { readSources } from '../input/read/read-sources.ts';
import { renderCount } from '../../shared/core/quantity/render-count.ts';
import { fileProblem, WrongInputError } from '../wrong-input.ts';
import { renderJson, renderYaml } from '../documents/render-document.ts';
import { renderTable } from './render-table.ts';
import type { RefusedPlan } from '../../shared/core/recovery/sound-plan.ts';
import { solve, type Solved } from './solve.ts';
import { toPlanDocument } from './to-plan-document.ts';

/** What the command prints and how it ends. */
export interface PlanOutcome {
  /** For standard output. */
  readonly text: string;
  /** For standard error, one line each. */
  readonly notes: ReadonlyArray<string>;
  /** The same, of what was wrong with a first plan; empty but for exit code 3. */
  readonly errors: ReadonlyArray<string>;
  /** 0 all pods placed, 1 pods left, 3 a first plan failed its audit: what is shown does without what it names. */
  readonly exitCode: 0 | 1 | 3;
}

/** Reads, plans, audits, renders. Throws WrongInputError with all that is wrong with the input. */
export async function planFromFiles(options: PlanOptions, stdin: Readable): Promise<PlanOutcome> {
  const nowMs = Date.now();
  const given = await readCluster(options, stdin, nowMs);
  const { own, foreign: foreignPools } = poolsByProvider(given.snapshot.nodePools);
  const nodePools = refuseMissingClasses(own, given.snapshot);
  const cluster = { ...given.snapshot, nodePools };
  const usable = { ...cluster, nodePools: nodePools.filter(isUsable) };
  const { catalog, templates, notes, prices } = await readCatalogs(options, usable);
  const input: ProvisioningInput = {
    cluster,
    foreignPools,
    catalog,
    inFlight: inFlightOf(cluster),
    // An overlay or a buffer in the files is there to be tried.
    policy: { ...KARPENTER_POLICY, gates: { ...KARPENTER_POLICY.gates, nodeOverlay: true, capacityBuffer: true } },
    work: DEFAULT_WORK,
    devices: await deviceSupport(cluster, templates),
    evictionCostMs: evictionCosts(nodePools),
    held: [],
  };
  const solved = solve(input, nowMs, options.budgetMs);
  const allNotes = [...given.notes, ...notes, ...notesOnPods(solved.plan, cluster), ...notesOnBuffers(input)];
  return toOutcome(solved, allNotes, () => render(solved, solved.input, options, prices));
}

/**
 * Offline nothing is switched off: what a plan of pods with resource claims would be is what is asked. What `inCatalog`
 * states is believed least: slices of nodes and annotations of pools are of this cluster.
 */
export async function deviceSupport(snapshot: Snapshot, inCatalog: DeviceTemplates): Promise<DeviceSupport> {
  const { templates } = knownDevices(snapshot, inCatalog);
  if (snapshot.deviceClasses.length === 0)
    return { kind: 'planned', compile: () => ({ error: 'no class' }), templates };
  const { createDeviceSelectors } = await import('../../shared/adapters/cel/device-selectors.ts');
  return { kind: 'planned', compile: createDeviceSelectors(), templates };
}

/** What breaks a rule of its audit is not shown, because it would mislead; the rest of the plan is. */
export async function toOutcome(
  { plan, warnings, refused }: Solved,
  notes: ReadonlyArray<string>,
  rendered: () => Promise<string>,
): Promise<PlanOutcome> {
  const text = await rendered();
  const allNotes = [...notes, ...warnings.map((one) => `audit: ${one.rule}: ${one.text}`)];
  if (refused === null) return { text, notes: allNotes, errors: [], exitCode: plan.left.length > 0 ? 1 : 0 };
  const told = refused.findings.slice(0, FINDINGS_SHOWN);
  const errors = told.map((one) => `internal error: the plan broke the rule ${one.rule}: ${one.text}`);
  const more = refused.findings.length - told.length;
  return {
    text,
    notes: allNotes,
    errors: [...errors, ...(more > 0 ? [`and ${renderCount(more, 'finding')} more`] : []), renderInstead(refused)],
    exitCode: 3,
  };
}

/** One fault is often found on each of twenty fallbacks. */
const FINDINGS_SHOWN = 5;

/** What is shown in place of a plan that was refused, and whom it leaves out. */
function renderInstead({ instead, nodePools, rescued, leftOut }: RefusedPlan): string {
  const made =
    instead === 'rest' ? 'what is shown is planned without what that names' : 'what is shown is plain first-fit';
  const pools = nodePools.length === 0 ? '' : `, of NodePool ${nodePools.join(', ')}`;
  const pods = [
    ...(rescued === 0 ? [] : [`${renderCount(rescued, 'pod')}${pools} placed by first-fit`]),
    ...(leftOut === 0 ? [] : [`${renderCount(leftOut, 'pod')}${pools} left out`]),
  ];
  return `${[made, ...pods].join('; ')}; please report it`;
}

function notesOnPods(plan: Plan, snapshot: Snapshot): ReadonlyArray<string> {
  const askingNothing = countWithoutRequests(plan, snapshot);
  const fixed = snapshot.nodePools.filter(({ spec }) => spec.replicas !== undefined);
  return [
    ...(askingNothing === 0
      ? []
      : [`${renderCount(askingNothing, 'pod')} without requests for CPU and memory: counted as taking none`]),
    ...snapshot.nodePools.flatMap((pool) => noteOnContradiction(pool)),
    ...fixed.map(
      ({ metadata }) =>
        `NodePool ${metadata.name} is static: its nodes are not for pending pods, and the plan adds none to those that are given`,
    ),
  ];
}

/** Also where other pools take the pods: whoever wrote it means it to have nodes. */
function noteOnContradiction(pool: NodePool): ReadonlyArray<string> {
  const wanted = contradictionOfPool(pool);
  if (wanted === null) return [];
  return [
    `NodePool ${pool.metadata.name} gets no nodes: it asks for ${renderWanted(wanted)}, which no node has at once`,
  ];
}

/** Buffers for which no room is planned, and why. */
function notesOnBuffers(input: ProvisioningInput): ReadonlyArray<string> {
  return activeBuffers(input).flatMap((buffer) => {
    const demand = bufferDemand(input.cluster, buffer);
    const title = `CapacityBuffer ${bufferName(buffer)} holds no room`;
    if (demand.kind === 'unresolved') return [`${title}: ${demand.message}`];
    return demand.replicas > 0 ? [] : [`${title}: its replicas, percentage and limits come to 0 pods`];
  });
}

/** Pods of the plan that ask for nothing, which is more often an oversight than meant. */
function countWithoutRequests(plan: Plan, { pods, shapes }: Snapshot): number {
  const planned = new Set([...plan.claims, ...plan.nominations].flatMap((place) => place.pods.map(({ uid }) => uid)));
  const asksNothing = shapes.map(({ spec }) => {
    const requests = podRequests(spec);
    return (requests.get('cpu') ?? 0) === 0 && (requests.get('memory') ?? 0) === 0;
  });
  return pods.filter(({ uid, shape }) => asksNothing[shape] === true && planned.has(uid)).length;
}

/** What was read, and what there is to say about it. */
export interface NotedSnapshot {
  readonly snapshot: Snapshot;
  readonly notes: ReadonlyArray<string>;
}

/** Reads manifests as the cluster that they describe. Throws WrongInputError with all that is wrong with them. */
export async function readCluster(
  { paths, strict = false }: Pick<PlanOptions, 'paths'> & Partial<Pick<PlanOptions, 'strict'>>,
  stdin: Readable,
  nowMs: number,
): Promise<NotedSnapshot> {
  const { sources, problems: unreadable } = await readSources(paths, stdin);
  const read = await Promise.all(sources.map(readDocuments));
  const documents = read.flatMap((one) => one.documents);
  const { objects, problems } = readObjects(documents);
  const checked = checkObjects(objects, strict);
  const implied = implyPods(checked.objects);
  const unparsed = read.flatMap((one) => one.problems);
  const all = [...unreadable, ...unparsed, ...problems, ...checked.problems, ...implied.problems];
  if (all.length > 0) throw new WrongInputError(all);
  // An empty list is an answer of kubectl's; nothing at all is more often a command in front of a pipe that failed.
  if (documents.length === 0) {
    const fix = 'give manifests, or see whether the command that should write them has failed';
    throw new WrongInputError([fileProblem(sources.map(({ origin }) => origin).join(', '), 'holds no object', fix)]);
  }
  const { snapshot, notes } = buildCluster([...checked.objects, ...implied.objects], nowMs);
  const nothing = objects.length === 0 ? [`nothing to plan: ${paths.join(', ')} holds an empty list`] : [];
  return { snapshot, notes: [...nothing, ...checked.notes, ...implied.notes, ...notes] };
}

/** Where prices are from, for people, and what they are in (ISO 4217). */
export interface Prices {
  readonly from: string;
  readonly currency: string;
}

/** The sizes that pools can have, and where their prices are from. */
export async function readCatalogs(
  { catalog: path, region }: Pick<PlanOptions, 'catalog' | 'region'>,
  snapshot: Snapshot,
): Promise<PoolCatalogs & { readonly prices: Prices }> {
  if (path === null) {
    const sizes = readShippedSizes(region ?? DEFAULT_REGION);
    return { ...catalogsOf(sizes, snapshot), prices: { from: `${sizes.region}, ${sizes.prices}`, currency: 'USD' } };
  }
  const catalog = await readCatalog(path);
  if (region !== null && region !== catalog.region) {
    const message = `is ${region}, and the catalog ${path} is of ${catalog.region}`;
    throw new WrongInputError([{ origin: null, object: '', path: '--region', message, fix: 'drop one of the two' }]);
  }
  return {
    ...catalogsFrom(catalog, snapshot),
    prices: { from: `${catalog.region}, ${path}`, currency: catalog.currency },
  };
}

/** What claims on their way were planned as. Which pods they are for, only their decision's record knows. */
export function inFlightOf({ nodeClaims }: Snapshot): ReadonlyMap<string, InFlightClaim> {
  return new Map(
    nodeClaims.flatMap((claim) => {
      const planned = plannedOfferingOf(claim);
      return planned === null ? [] : [[claim.metadata.name, { pods: [], ...planned }] as const];
    }),
  );
}

async function render(
  solved: Solved,
  input: ProvisioningInput,
  { output }: PlanOptions,
  prices: Prices,
): Promise<string> {
  const taken = new Set(input.cluster.nodeClaims.map(({ metadata }) => metadata.name));
  const document = toPlanDocument(solved, taken, prices.currency);
  if (output === 'table') return renderTable(solved, document, input, prices.from);
  return output === 'json' ? renderJson(document) : renderYaml(document);
}
