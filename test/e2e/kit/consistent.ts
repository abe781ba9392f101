import { expect } from 'vitest';
import { claimsQueue } from '../../../shared/contract/messages/queues.ts';
import { readAzureNames } from './azure-names.ts';
import { type State, isRunning } from './state.ts';
import { type World, readQueues } from './world.ts';

/** What a test knows of the end. */
interface End {
  readonly pods: number;
  readonly poison?: number;
  /** True where pods have gone, or moved, since their nodes were made. Else each node has a pod. */
  readonly mayBeEmpty?: boolean;
  readonly withinMs?: number;
}

/** What a host had in its hands when it was killed comes back when its lock ends, and is done then. */
const QUEUES_WITHIN_MS = claimsQueue.lockDurationMs + 60_000;

/**
 * Waits until nothing is under way any more, and asserts what must then be true whatever has happened: every pod of the
 * `default` namespace runs, claims, nodes, VMs, network interfaces and disks are in one-to-one correspondence, no VM
 * was made twice under one name, no node is there for nothing, and no message is left, dead or poisoned.
 */
export async function expectConsistent(world: World, options: End): Promise<State> {
  const { pods, poison = 0, mayBeEmpty = false, withinMs = 90_000 } = options;
  const state = await world.until(
    `${pods} pods run, and claims, nodes and VMs are one to one`,
    (seen) => isSettled(seen, pods),
    withinMs,
  );
  const creations = world.sandbox.azure.counters().creations;
  const twice = Object.entries(creations).filter(([, count]) => count > 1);
  expect(twice, 'VMs that were made more than once').toEqual([]);
  await expectNothingLeft(world);
  if (!mayBeEmpty) expect(emptyNodes(state), 'nodes without a pod').toEqual([]);
  const areEmpty = async (): Promise<boolean> => {
    const counts = Object.entries(await readQueues(world.sandbox));
    return counts.every(([name, { active, locked }]) => name === 'poison' || active + locked === 0);
  };
  await world.until('the queues are empty', areEmpty, QUEUES_WITHIN_MS);
  const queues = await readQueues(world.sandbox);
  const dead = Object.entries(queues).filter(([, { deadLettered }]) => deadLettered > 0);
  expect(dead, 'queues with dead messages').toEqual([]);
  expect(queues['poison']?.active, `poison; last lines:\n${lastPoison(world)}`).toBe(poison);
  return state;
}

/** Azure keeps a network interface and an OS disk for each VM, and none without one. */
async function expectNothingLeft(world: World): Promise<void> {
  const vms = world.sandbox.azure.vms().map(({ name }) => name);
  const interfaces = await readAzureNames(world, 'networkInterfaces');
  expect(interfaces.toSorted(), 'network interfaces').toEqual(vms.toSorted());
  const disks = await readAzureNames(world, 'disks');
  const vmOf = (disk: string): string => vms.find((vm) => disk.startsWith(`${vm}_`)) ?? disk;
  const lost = disks.map(vmOf).filter((name) => !vms.includes(name));
  expect(lost, 'disks of no VM').toEqual([]);
}

/** Nodes that no pod of the `default` namespace is on. */
export function emptyNodes({ nodes, pods }: State): ReadonlyArray<string> {
  return nodes.map(({ metadata }) => metadata.name).filter((name) => !pods.some(({ spec }) => spec.nodeName === name));
}

/** Our part of it: what the state alone can tell. */
function isSettled({ pods, claims, nodes, vms }: State, wanted: number): boolean {
  const names = (of: ReadonlyArray<{ readonly metadata: { readonly name: string } }>): string =>
    of
      .map(({ metadata }) => metadata.name.replace(/^aks-/, ''))
      .toSorted()
      .join();
  const machines = vms
    .map(({ name }) => name.replace(/^aks-/, ''))
    .toSorted()
    .join();
  return (
    pods.length === wanted &&
    pods.every(isRunning) &&
    claims.every(({ metadata }) => metadata.deletionTimestamp === undefined) &&
    nodes.every(({ metadata }) => metadata.deletionTimestamp === undefined) &&
    names(claims) === names(nodes) &&
    names(claims) === machines
  );
}

function lastPoison({ lines }: World): string {
  return lines
    .filter((line) => /poison|bug/.test(line))
    .slice(-10)
    .join('\n');
}
