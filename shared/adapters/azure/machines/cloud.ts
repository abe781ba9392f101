import { claimOfVm, vmNameOf } from '../../../contract/vm-name.ts';
import type { VirtualMachine, VirtualMachineExtension } from '@azure/arm-compute';
import type { NetworkInterface } from '@azure/arm-network';
import { tag } from '../../../contract/names.ts';
import type { Settings } from '../../../contract/settings/settings.ts';
import type {
  Cloud,
  InventoryItem,
  LaunchOrder,
  LaunchOutcome,
  Machine,
  ObservedMachine,
  RefusalScope,
} from '../../../ports/cloud.ts';
import { atMost } from '../../../ports/at-most.ts';
import { RetryableError, TerminalError } from '../../../ports/errors.ts';
import { isNotFound, orNull, readAzureError, toRetryable } from '../calls/azure-error.ts';
import { customData } from '../bootstrap/custom-data.ts';
import { nodeConfig } from '../bootstrap/node-config.ts';
import { ON_DEMAND_SKU_PAUSE_MS, classifyLaunchError } from './classify-launch-error.ts';
import { toOutcome } from './refused-launch.ts';
import type { Clients } from '../calls/clients.ts';
import type { CompleteSettings } from '../network/complete-settings.ts';
import {
  DIAGNOSIS,
  EXTENSION,
  diagnosisBody,
  extensionBody,
  failedBootOf,
  failureOfExtension,
  hasExtension,
  isOn,
} from './extensions.ts';
import type { Sku } from '../catalog/sku.ts';
import { type NetworkPlace, nicBody, vmBody } from './vm-body.ts';

/** What the adapter needs beside its clients. */
export interface CloudParts {
  readonly settings: Settings;
  /** The settings with what Azure knows of the cluster in place of what is absent. */
  readonly complete: () => Promise<CompleteSettings>;
  readonly clients: Clients;
  readonly place: (nodeClass: LaunchOrder['nodeClass']) => Promise<NetworkPlace>;
  readonly sku: (name: string) => Promise<Sku | null>;
  readonly bootstrapToken: (claim: string) => Promise<string>;
  readonly revokeTokens: Cloud['revokeTokens'];
}

/** A network interface is there within a second or two; Azure answers reads in some 50 ms. */
const NIC_LOOKS_MAX = 60;
const NIC_LOOK_PAUSE_MS = 150;

/**
 * Launches under way in one process: each is some ten requests within two or three seconds, so that these are six
 * machines a second. ARM takes 200 writes at once from a principal, and then ten a second: more would only queue there,
 * or be refused, and be in the way of nodes that are already there.
 */
const LAUNCHES_AT_ONCE = 16;

/** Machines as VMs of the node resource group, each named for its claim. */
export function createCloud(parts: CloudParts): Cloud {
  const inTurn = atMost(LAUNCHES_AT_ONCE);
  return {
    launch: (order) => inTurn(() => launch(parts, order)),
    observe: (claim) => observe(parts, claim),
    equip: (claim) => equip(parts, claim),
    diagnose: (claim) => diagnose(parts, claim),
    revokeTokens: parts.revokeTokens,
    delete: (claim) => remove(parts, claim),
    inventory: () => inventory(parts),
  };
}

async function launch(parts: CloudParts, order: LaunchOrder): Promise<LaunchOutcome> {
  const { clients } = parts;
  const { settings, problems } = await parts.complete();
  if (problems.length > 0) return { kind: 'rejected', reason: 'SettingsMissing', message: problems.join('; ') };
  const name = vmNameOf(order.claim);
  const group = settings.AZURE_NODE_RESOURCE_GROUP;
  const sku = await parts.sku(order.offering.instanceType);
  const imageId = pickImage(order, sku);
  if (imageId === null) {
    const message = `no image of AKSNodeClass ${order.nodeClass.metadata.name} runs on ${order.offering.instanceType}`;
    return {
      kind: 'unavailable',
      scope: 'size',
      retryAfterMs: ON_DEMAND_SKU_PAUSE_MS,
      reason: 'ImageNotFound',
      message,
    };
  }
  const compute = await clients.compute();
  let hasAskedForVm = false;
  try {
    const [place, nic] = await Promise.all([parts.place(order.nodeClass), readNic(parts, name)]);
    if (nic !== null && !isOwn(parts, nic)) return taken(parts, `network interface ${name}`);
    const nicId = await ensureNic(parts, order, name, place);
    const token = await parts.bootstrapToken(order.claim);
    const kubernetesVersion = order.nodeClass.status?.kubernetesVersion ?? '';
    const data = customData(nodeConfig(order, settings, { ...place, kubernetesVersion, token }));
    const body = vmBody(order, settings, { name, nicId, imageId, customData: data, sku });
    hasAskedForVm = true;
    // Create-once: a second delivery finds the first's VM, whatever size that is.
    await compute.virtualMachines.createOrUpdate(group, name, body, { ifNoneMatch: '*' }).submitted();
    return { kind: 'accepted', machine: toMachine(parts, order.claim, body) };
  } catch (error) {
    return sortOut(parts, order, { name, hasAskedForVm }, error);
  }
}

/** Existing, a refusal of the offering, a refusal of everything, or something that may pass. */
async function sortOut(
  parts: CloudParts,
  order: LaunchOrder,
  { name, hasAskedForVm }: { readonly name: string; readonly hasAskedForVm: boolean },
  error: unknown,
): Promise<LaunchOutcome> {
  const refused = readAzureError(error instanceof RetryableError ? error.cause : error);
  // A right or a group that is missing is missing whatever was asked for: told as when the VM is refused for it.
  if (error instanceof RetryableError && !MISSING.has(refused.status)) throw error;
  const { status, code } = refused;
  if (status === 412 || status === 409 || code === 'PropertyChangeNotAllowed') {
    const vm = await readVm(parts, name);
    if (vm !== null && !isOwn(parts, vm)) return taken(parts, `VM ${name}`);
    if (vm !== null) return { kind: 'exists', machine: toMachine(parts, order.claim, vm) };
  }
  const outcome = toOutcome(refused, order.offering, hasAskedForVm);
  if (outcome !== null) return outcome;
  // What is a RetryableError already says what was tried, and which right is missing.
  throw error instanceof RetryableError ? error : toRetryable(`launching VM ${name}`, error);
}

const MISSING: ReadonlySet<number> = new Set([403, 404]);

/** Somebody else's of that name, AKS's own pools' for instance, is neither taken for ours nor written over. */
function taken({ settings }: CloudParts, what: string): LaunchOutcome {
  return {
    kind: 'rejected',
    reason: 'NameTaken',
    message: `${what} exists and is not ours: its tag ${tag.cluster} is not ${settings.CLUSTER_NAME}; delete the NodeClaim, or delete what has its name`,
  };
}

/** Whether it carries our cluster's tag: whatever does not is not touched. */
function isOwn({ settings }: CloudParts, { tags }: { readonly tags?: Readonly<Record<string, string>> }): boolean {
  return tags?.[tag.cluster] === settings.CLUSTER_NAME;
}

async function ensureNic(parts: CloudParts, order: LaunchOrder, name: string, place: NetworkPlace): Promise<string> {
  const { settings, clients } = parts;
  const group = settings.AZURE_NODE_RESOURCE_GROUP;
  const network = await clients.network();
  const body = nicBody(name, order, settings, place);
  const creation = network.networkInterfaces.createOrUpdate(group, name, body);
  await creation.submitted();
  // Mostly it is there at once, and the answer says so.
  if (creation.isDone && creation.result?.provisioningState === 'Succeeded' && creation.result.id !== undefined)
    return creation.result.id;
  for (let look = 0; look < NIC_LOOKS_MAX; look++) {
    // Each look waits for the one before.
    const nic: NetworkInterface = await network.networkInterfaces.get(group, name);
    if (nic.provisioningState === 'Succeeded' && nic.id !== undefined) return nic.id;
    if (nic.provisioningState === 'Failed') throw new RetryableError(`network interface ${name} failed`);
    await pause(NIC_LOOK_PAUSE_MS);
  }
  throw new RetryableError(`network interface ${name} is not ready after ${NIC_LOOKS_MAX * NIC_LOOK_PAUSE_MS} ms`);
}

/** The class's first image that the size can run; classes list them in order of preference. */
function pickImage(order: LaunchOrder, sku: Sku | null): string | null {
  const facts: Readonly<Record<string, ReadonlyArray<string>>> = {
    ...order.instanceType.labels,
    ...(sku === null ? {} : { 'karpenter.azure.com/sku-hyperv-generation': sku.hyperVGenerations }),
  };
  const image = order.nodeClass.status?.images?.find(({ requirements }) =>
    requirements.every(({ key, operator, values = [] }) => {
      const have = facts[key];
      return operator !== 'In' || have === undefined || have.some((value) => values.includes(value));
    }),
  );
  return image?.id ?? null;
}

async function observe(parts: CloudParts, claim: string): Promise<ObservedMachine> {
  const name = vmNameOf(claim);
  const vm = await readOwnVm(parts, name);
  if (vm === null) return { kind: 'gone' };
  const machine = toMachine(parts, claim, vm);
  const present = {
    kind: 'present',
    machine,
    isEquipped: hasExtension(vm, EXTENSION),
    failedBoot: failedBootOf(vm),
  } as const;
  switch (vm.provisioningState) {
    case 'Failed':
      // An extension that fails makes the VM look failed. It runs all the same, and what it lacks is told otherwise.
      return failsByExtension(vm) ? { ...present, state: 'running' } : toFailure(machine, vm);
    case 'Deleting':
      return { ...present, state: 'deleting' };
    case 'Succeeded':
    case 'Updating':
      // One that somebody has stopped, too: it is there and costs its disk. Azure deletes the spot VMs that it evicts;
      // see `vmBody`.
      return { ...present, state: 'running' };
    case undefined:
    default:
      return { ...present, state: 'creating' };
  }
}

const FAILED = 'ProvisioningState/failed/';

function failureOf(vm: VirtualMachine): { readonly reason: string; readonly message: string } {
  const status = vm.instanceView?.statuses?.find(({ code = '' }) => code.startsWith(FAILED));
  return {
    reason: status?.code?.slice(FAILED.length) ?? 'ProvisioningFailed',
    message: status?.message ?? 'Azure could not provision the VM',
  };
}

function failsByExtension(vm: VirtualMachine): boolean {
  return failureOf(vm).reason.startsWith('VMExtension');
}

/** Puts AKS's extension on a VM that runs, and again where it failed, a few times. */
async function equip(parts: CloudParts, claim: string): Promise<void> {
  const name = vmNameOf(claim);
  const vm = await readOwnVm(parts, name);
  if (vm === null || !takesExtensions(vm)) return;
  const failure = failureOfExtension(vm, EXTENSION);
  if (failure?.isLast === true)
    throw new TerminalError(
      `extension ${EXTENSION} of VM ${name} failed ${failure.tries} times: its node learns neither of evictions nor of maintenance. ${failure.message}`,
    );
  if (!hasExtension(vm, EXTENSION)) await putExtension(parts, name, EXTENSION, extensionBody(vm));
}

/** Puts the extension on a VM that asks how its set-up ended. That it fails is how it tells. */
async function diagnose(parts: CloudParts, claim: string): Promise<void> {
  const name = vmNameOf(claim);
  const vm = await readOwnVm(parts, name);
  if (vm === null || !takesExtensions(vm) || isOn(vm, DIAGNOSIS)) return;
  await putExtension(parts, name, DIAGNOSIS, diagnosisBody(vm));
}

/** One that is on its way out, or could not be made, takes none. */
function takesExtensions(vm: VirtualMachine): boolean {
  return vm.provisioningState !== 'Deleting' && (vm.provisioningState !== 'Failed' || failsByExtension(vm));
}

async function putExtension(
  parts: CloudParts,
  name: string,
  extension: string,
  body: VirtualMachineExtension,
): Promise<void> {
  const { virtualMachineExtensions: extensions } = await parts.clients.compute();
  const group = parts.settings.AZURE_NODE_RESOURCE_GROUP;
  await started(`extending VM ${name}`, extensions.createOrUpdate(group, name, extension, body));
}

/** The reason of a failed creation stands in the instance view, as `ProvisioningState/failed/<code>`. */
function toFailure(machine: Machine, vm: VirtualMachine): ObservedMachine {
  const { reason, message } = failureOf(vm);
  const verdict = classifyLaunchError({ code: reason, target: '', message });
  const refusal: { readonly scope: RefusalScope; readonly retryAfterMs: number } | null =
    verdict?.kind === 'unavailable' ? { scope: verdict.scope, retryAfterMs: verdict.retryAfterMs } : null;
  return { kind: 'failed', machine, refusal, reason, message };
}

/** Null also where the VM of that name is not ours. */
async function readOwnVm(parts: CloudParts, name: string): Promise<VirtualMachine | null> {
  const vm = await readVm(parts, name);
  return vm !== null && isOwn(parts, vm) ? vm : null;
}

async function readNic({ settings, clients }: CloudParts, name: string): Promise<NetworkInterface | null> {
  const network = await clients.network();
  const read = network.networkInterfaces.get(settings.AZURE_NODE_RESOURCE_GROUP, name);
  return orNull(`reading network interface ${name}`, read);
}

async function readVm({ settings, clients }: CloudParts, name: string): Promise<VirtualMachine | null> {
  const compute = await clients.compute();
  const read = compute.virtualMachines.get(settings.AZURE_NODE_RESOURCE_GROUP, name, { expand: 'instanceView' });
  return orNull(`reading VM ${name}`, read);
}

/** The VM takes its NIC and disk along; a NIC that has no VM is removed by itself. */
async function remove(parts: CloudParts, claim: string): Promise<'gone' | 'deleting'> {
  const { settings, clients } = parts;
  const group = settings.AZURE_NODE_RESOURCE_GROUP;
  const name = vmNameOf(claim);
  const vm = await readOwnVm(parts, name);
  if (vm !== null) {
    if (vm.provisioningState === 'Deleting') return 'deleting';
    await started(
      `deleting VM ${name}`,
      (await clients.compute()).virtualMachines.delete(group, name, { forceDeletion: true }),
    );
    return 'deleting';
  }
  const nic = await readNic(parts, name);
  if (nic === null || !isOwn(parts, nic)) return 'gone';
  try {
    await (await clients.network()).networkInterfaces.delete(group, name).submitted();
    return 'deleting';
  } catch (error) {
    if (isNotFound(error)) return 'gone';
    // For three minutes after its VM a NIC cannot be removed. The sweep does it then; the claim need not wait.
    if (readAzureError(error).code === 'NicReservedForAnotherVm') return 'gone';
    throw toRetryable(`deleting network interface ${name}`, error);
  }
}

/** Waits until Azure has accepted the operation, not until it is over. Gone already is fine. */
async function started(doing: string, poller: { submitted(): Promise<void> }): Promise<void> {
  try {
    await poller.submitted();
  } catch (error) {
    if (!isNotFound(error)) throw toRetryable(doing, error);
  }
}

async function inventory(parts: CloudParts): Promise<ReadonlyArray<InventoryItem>> {
  const { settings, clients } = parts;
  const group = settings.AZURE_NODE_RESOURCE_GROUP;
  try {
    const [compute, network] = await Promise.all([clients.compute(), clients.network()]);
    const [vms, nics] = await Promise.all([
      Array.fromAsync(compute.virtualMachines.list(group)),
      Array.fromAsync(network.networkInterfaces.list(group)),
    ]);
    return [
      ...vms.flatMap((vm) => {
        const { provisioningState: state } = vm;
        // Lists do not say which extension failed; that one did makes its VM look failed.
        const lacksEquipment = state === 'Failed' || (state === 'Succeeded' && !isOn(vm, EXTENSION));
        return toItem(parts, 'vm', vm, { createdAt: vm.timeCreated ?? null, lacksEquipment });
      }),
      ...nics.flatMap((nic) => toItem(parts, 'nic', nic, { createdAt: null, lacksEquipment: false })),
    ];
  } catch (error) {
    throw toRetryable(`listing machines of ${group}`, error);
  }
}

function toItem(
  parts: CloudParts,
  kind: 'vm' | 'nic',
  item: { readonly name?: string; readonly tags?: Readonly<Record<string, string>> },
  { createdAt, lacksEquipment }: { readonly createdAt: Date | null; readonly lacksEquipment: boolean },
): ReadonlyArray<InventoryItem> {
  // Azure's names are the same in any case, and its lists do not keep the one they were given in; a claim's is lower.
  const claim = claimOfVm(item.name ?? '');
  if (claim === null || !isOwn(parts, item)) return [];
  return [{ kind, claim, createdAtMs: createdAt?.getTime() ?? null, lacksEquipment }];
}

/** What a VM is, from the body we sent or the one Azure holds. */
function toMachine({ settings }: CloudParts, claim: string, vm: VirtualMachine): Machine {
  const group = settings.AZURE_NODE_RESOURCE_GROUP.toLowerCase();
  const zone = vm.zones?.[0];
  const image = vm.storageProfile?.imageReference;
  return {
    claim,
    providerId: `azure:///subscriptions/${settings.AZURE_SUBSCRIPTION_ID}/resourceGroups/${group}/providers/Microsoft.Compute/virtualMachines/${vmNameOf(claim)}`,
    instanceType: vm.hardwareProfile?.vmSize ?? '',
    zone: zone === undefined ? '0' : `${settings.LOCATION.toLowerCase()}-${zone}`,
    capacityType: vm.priority === 'Spot' ? 'spot' : 'on-demand',
    imageId: image?.communityGalleryImageId ?? image?.id ?? '',
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
