import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlobServiceClient } from '@azure/storage-blob';
import { annotation, container } from '../../shared/contract/names.ts';
import { isApiError } from '../../sandbox/kubernetes/client/connection.ts';
import { isFinished, type KubernetesObject, type Pod } from '../../sandbox/kubernetes/client/objects.ts';
import type { PriceOf } from '../../sandbox/start/view/price-list.ts';
import { readAzureNames, readVmsWithLocalDisk } from '../e2e/kit/azure-names.ts';
import type { World } from '../e2e/kit/world.ts';
import type { Observed } from './observe.ts';

/** Names of what has to be one to one, each without the prefix that tells a machine by its claim. */
export interface Counts {
  readonly claims: ReadonlyArray<string>;
  readonly nodes: ReadonlyArray<string>;
  readonly vms: ReadonlyArray<string>;
  readonly interfaces: ReadonlyArray<string>;
  readonly disks: ReadonlyArray<string>;
  /** Pods that can run, and have no node. */
  readonly waiting: ReadonlyArray<string>;
  /** Pods that can run and do, or have done so. */
  readonly running: number;
}

/** Why the world is not at rest yet; empty when it is. Pure. */
export function unrest(counts: Counts): ReadonlyArray<string> {
  const { claims, nodes, vms, interfaces, disks, waiting } = counts;
  const wanted = claims.toSorted().join();
  const differs = ([what, names]: readonly [string, ReadonlyArray<string>]): ReadonlyArray<string> =>
    names.toSorted().join() === wanted ? [] : [`${what} are ${difference(names, claims)}`];
  const kinds = Object.entries({ nodes, VMs: vms, 'network interfaces': interfaces, disks });
  return [...kinds.flatMap(differs), ...(waiting.length > 0 ? [`pods wait: ${waiting.join(', ')}`] : [])];
}

function difference(names: ReadonlyArray<string>, claims: ReadonlyArray<string>): string {
  const more = names.filter((name) => !claims.includes(name));
  const fewer = claims.filter((name) => !names.includes(name));
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  const said = [
    ...(more.length > 0 ? [`there without a claim: ${more.join(', ')}`] : []),
    ...(fewer.length > 0 ? [`missing for claims: ${fewer.join(', ')}`] : []),
    ...(twice.length > 0 ? [`there twice: ${twice.join(', ')}`] : []),
  ];
  return said.join('; ');
}

/**
 * Reads the counts. A claim or node that is being deleted still counts: at rest there is none, or its machine is there
 * too.
 */
export async function readCounts(world: World, observed: Observed): Promise<Counts> {
  const bare = (name: string): string => name.replace(/^aks-/, '');
  const vms = world.sandbox.azure.vms().map(({ name }) => name);
  const owner = (disk: string): string => vms.find((vm) => disk.startsWith(`${vm}_`)) ?? disk;
  const active = [...observed.pods.values()].filter(({ canRun, goneMs }) => canRun && goneMs === null);
  const [interfaces, managed, local] = await Promise.all([
    readAzureNames(world, 'networkInterfaces'),
    readAzureNames(world, 'disks'),
    readVmsWithLocalDisk(world),
  ]);
  const disks = [...managed.map(owner), ...local];
  return {
    claims: [...observed.claims.values()].filter(({ goneMs }) => goneMs === null).map(({ name }) => name),
    nodes: [...observed.nodes].filter(([, { goneMs }]) => goneMs === null).map(([name]) => bare(name)),
    vms: vms.map(bare),
    interfaces: interfaces.map(bare),
    disks: disks.map(bare),
    waiting: active.filter(({ isRunning, isFinished: ended }) => !isRunning && !ended).map(({ name }) => name),
    running: active.filter(({ isRunning }) => isRunning).length,
  };
}

/** What all VMs cost, in dollars per hour at list prices. */
export function costNow(world: World, priceOf: PriceOf): number {
  return costOf(world, priceOf, () => true);
}

function costOf({ sandbox }: World, priceOf: PriceOf, isMeant: (name: string) => boolean): number {
  const micro = sandbox.azure
    .vms()
    .filter(({ name }) => isMeant(name))
    .reduce((sum, { size, capacityType }) => sum + (priceOf(size, capacityType) ?? 0), 0);
  return micro / 1e6;
}

/** A claim that waits for so long for a pod that says do-not-disrupt is let go, as a person would. */
const HELD_MS = 15_000;

/** Takes `do-not-disrupt` off pods that hold a node which is being deleted. Answers their names. */
export async function letGo(world: World, observed: Observed, nowMs: number): Promise<ReadonlyArray<string>> {
  const held = [...observed.pods.values()].filter(({ isProtected, node, goneMs }) => {
    const deletingMs = observed.claims.get((node ?? '').replace(/^aks-/, ''))?.deletingMs ?? nowMs;
    return isProtected && goneMs === null && nowMs - deletingMs > HELD_MS;
  });
  for (const { name } of held) {
    const metadata = { annotations: { [annotation.doNotDisrupt]: 'false' } };
    await world.api.patch(`/api/v1/namespaces/default/pods/${name}`, 'merge', { metadata }).catch((error: unknown) => {
      if (!isApiError(error, 404)) throw error;
    });
  }
  return held.map(({ name }) => name);
}

/**
 * Deletes what is remembered of evictions, as a person may: else spot counts as dearer for half an hour, and cost says
 * nothing.
 */
export async function forgetEvictions({ sandbox }: World): Promise<void> {
  const blobs = BlobServiceClient.fromConnectionString(sandbox.storageConnection).getContainerClient(container.catalog);
  for await (const { name } of blobs.listBlobsFlat()) {
    if (name.endsWith('/evictions.json')) await blobs.deleteBlob(name);
  }
}

interface Plan {
  readonly summary: { readonly costPerHour: string; readonly pods: { readonly left: number } };
}

/** What the planner would buy for all pods that there are, in dollars per hour at list prices. */
export interface PlannedCosts {
  /** If there were no node yet. */
  readonly planned: number;
  /** With the nodes on which a pod says do-not-disrupt, which nobody may remove: these too. */
  readonly plannedBesideHeld: number;
}

/** Asks the planner. `file` is written: the cluster as it is, to try other things on. */
export async function plannedCosts(
  world: World,
  { root, file, priceOf }: { readonly root: string; readonly file: string; readonly priceOf: PriceOf },
): Promise<PlannedCosts> {
  const list = async <T extends KubernetesObject>(path: string): Promise<ReadonlyArray<T>> =>
    (await world.api.get<{ readonly items: ReadonlyArray<T> }>(path)).items;
  const kinds = await Promise.all([
    list('/apis/karpenter.sh/v1/nodepools').then(ofKind('karpenter.sh/v1', 'NodePool')),
    list('/apis/karpenter.azure.com/v1beta1/aksnodeclasses').then(
      ofKind('karpenter.azure.com/v1beta1', 'AKSNodeClass'),
    ),
    list('/apis/scheduling.k8s.io/v1/priorityclasses').then(ofKind('scheduling.k8s.io/v1', 'PriorityClass')),
    list('/apis/policy/v1/poddisruptionbudgets').then(ofKind('policy/v1', 'PodDisruptionBudget')),
  ]);
  const [nodes, claims, all] = await Promise.all([
    list('/api/v1/nodes'),
    list('/apis/karpenter.sh/v1/nodeclaims'),
    list<Pod>('/api/v1/namespaces/default/pods'),
  ]);
  const pods = all.filter((pod) => !isFinished(pod) && pod.metadata.deletionTimestamp === undefined);
  const ofNodes = [...ofKind('v1', 'Node')(nodes), ...ofKind('karpenter.sh/v1', 'NodeClaim')(claims)];
  writeFileSync(file, toList([...kinds.flat(), ...ofNodes, ...ofKind('v1', 'Pod')(pods)]));

  const cost = async (held: ReadonlySet<string>): Promise<number> => {
    const bound = pods.map((pod) => (holdsItsNode(pod) && held.has(pod.spec.nodeName ?? '') ? pod : unbound(pod)));
    const there = nodes.filter(({ metadata }) => held.has(metadata.name));
    return costOfPlan(root, [...kinds.flat(), ...ofKind('v1', 'Node')(there), ...ofKind('v1', 'Pod')(bound)]);
  };
  const held = new Set(pods.flatMap((pod) => (holdsItsNode(pod) ? (pod.spec.nodeName ?? []) : [])));
  const heldCost = costOf(world, priceOf, (name) => held.has(name));
  return { planned: await cost(new Set()), plannedBesideHeld: heldCost + (await cost(held)) };
}

function holdsItsNode({ metadata }: Pod): boolean {
  return metadata.annotations?.[annotation.doNotDisrupt] === 'true';
}

function toList(items: ReadonlyArray<object>): string {
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
}

async function costOfPlan(root: string, objects: ReadonlyArray<object>): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-soak-'));
  try {
    const file = join(folder, 'cluster.json');
    writeFileSync(file, toList(objects));
    const text = await runCommand(root, ['plan', '-f', file, '-o', 'json']);
    return Number((JSON.parse(text) as Plan).summary.costPerHour);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function ofKind(apiVersion: string, kind: string): (objects: ReadonlyArray<object>) => ReadonlyArray<object> {
  return (objects) => objects.map((object) => ({ apiVersion, kind, ...object }));
}

/** As its owner would make it anew. */
function unbound({ metadata, spec }: Pod): object {
  const { nodeName: _, ...rest } = spec;
  const { name, namespace, labels, annotations } = metadata;
  return { metadata: { name, namespace, labels, annotations }, spec: rest };
}

/** Runs the `nodewright` command; answers what it prints. Throws with its complaint when it plans nothing. */
function runCommand(root: string, args: ReadonlyArray<string>): Promise<string> {
  const child = spawn(process.execPath, [join(root, 'cli/bin.js'), ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  let complaint = '';
  child.stdout.on('data', (chunk: Buffer) => void (said += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => void (complaint += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    // 1: pods are left, as are those that no machine can hold.
    child.once('close', (code) => (code === 0 || code === 1 ? resolve(said) : reject(new Error(complaint))));
  });
}
