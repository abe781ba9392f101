import { sinceNoticeMs } from '../../facts/replacing.ts';
import { isLabelValue } from '../../../contract/api/schema/object-meta.ts';
import { annotation, label } from '../../../contract/names.ts';
import type { InstanceType } from '../../../core/model/catalog.ts';
import { allocatableOf } from '../../../core/model/allocatable.ts';
import { withCurrency } from '../../../core/quantity/render-usd.ts';
import type { NodeClaim } from '../../../kubernetes/manifest.ts';
import type { Machine } from '../../../ports/cloud.ts';
import type { NodeClass, WriteOutcome } from '../../../ports/kubernetes.ts';
import { claimFacts } from '../../facts/claim-facts.ts';
import { labelsWith, ownLabels, plannedOfferingOf, renderOffering } from '../../facts/machine-labels.ts';
import { vmNameOf } from '../../../contract/vm-name.ts';
import type { Ports } from '../../ports/ports.ts';
import { classStamps } from '../../claims/to-node-claim.ts';
import { priceOf, renderPrice } from '../../facts/machine-price.ts';
import {
  NODE_NOT_FOUND,
  type StatusChange,
  createdAtMs,
  statusPatch,
  withStatus,
  written,
} from '../../claims/node-claim.ts';
import type { FollowOutcome } from '../../ports/follow-outcome.ts';
import { tellTransitions } from '../../claims/tell-transitions.ts';

/** First look at a VM that Azure has accepted: allocation failures are reported within seconds. Then see `follow`. */
const FIRST_LOOK_MS = 5_000;

/** What a claim's machine is made of. */
export interface LaunchedWith {
  readonly nodeClass: NodeClass;
  /** The sizes that the class can have. */
  readonly types: ReadonlyArray<InstanceType>;
}

/**
 * Says on the claim what its machine is: by its labels and stamps, where its creation has not said so already, and by
 * its status. Each write depends on the claim that was read; one that goes meanwhile takes its machine with it.
 */
export async function recordLaunch(
  ports: Ports,
  claim: NodeClaim,
  { nodeClass, types }: LaunchedWith,
  machine: Machine,
): Promise<FollowOutcome> {
  const { name } = claim.metadata;
  const key = { name, namespace: null };
  const prices = priceStamps(claim, types, machine, ports.catalogs.currency);
  const metadata = metadataPatch(claim, { nodeClass, types }, machine, prices);
  const labelled =
    metadata === null ? claim : await take(ports, name, await ports.kubernetes.patch('NodeClaim', key, metadata));
  if (labelled === null) return takeBack(ports, name);
  const status = statusPatch(labelled, withStatus(labelled, launched(types, machine), ports.now()));
  const told =
    status === null ? labelled : await take(ports, name, await ports.kubernetes.patchStatus('NodeClaim', key, status));
  if (told === null) return takeBack(ports, name);
  await tellTransitions(ports, labelled, told, { Launched: machineText(told, machine) });
  ports.log('nodeclaim-launched', {
    ...claimFacts(claim),
    vm: vmNameOf(name),
    instanceType: machine.instanceType,
    zone: machine.zone,
    capacityType: machine.capacityType,
    sinceCreatedMs: ports.now() - createdAtMs(claim),
    sinceNoticeMs: sinceNoticeMs(claim, ports.now()),
  });
  return { kind: 'wait', for: 'the node to join', lookAgainMs: ports.now() + FIRST_LOOK_MS };
}

/**
 * The labels and stamps that the claim lacks, and those taken off that only what it was planned as has; null when it
 * has them all.
 */
function metadataPatch(
  claim: NodeClaim,
  { nodeClass, types }: LaunchedWith,
  machine: Machine,
  prices: Readonly<Record<string, string>>,
): object | null {
  const { labels: present = {}, annotations = {}, resourceVersion } = claim.metadata;
  const wanted = { ...classLabel(nodeClass), ...labelsWith(types, machine, ownLabels(claim, types)) };
  const stale = Object.keys(present).filter((key) => wanted[key] === undefined);
  const labels = { ...changed(present, wanted), ...Object.fromEntries(stale.map((key) => [key, null])) };
  // Another process was about to give it up, for want of what this one has got.
  const undone = annotation.givenUp in annotations ? { [annotation.givenUp]: null } : {};
  const stamps = { ...changed(annotations, { ...classStamps(nodeClass), ...prices }), ...undone };
  if (Object.keys({ ...labels, ...stamps }).length === 0) return null;
  return { metadata: { resourceVersion, labels, annotations: stamps } };
}

/**
 * What a machine costs that is another than its claim was planned as, and why it is. None where the claim says it
 * already.
 */
function priceStamps(
  claim: NodeClaim,
  types: ReadonlyArray<InstanceType>,
  machine: Machine,
  currency: string,
): Readonly<Record<string, string>> {
  const planned = plannedOfferingOf(claim);
  if (planned !== null && renderOffering(planned) === renderOffering(machine)) return {};
  const price = priceOf(types, machine);
  return {
    ...(price === null ? {} : { [annotation.pricePerHour]: renderPrice(price, currency) }),
    ...(planned === null
      ? {}
      : { [annotation.sizeReason]: `launched in place of ${renderOffering(planned)}, which was not available` }),
  };
}

/** `Standard_D8ls_v5 (on-demand) in westeurope-1 at $0.388 an hour: holds 7 pods; …`. */
function machineText({ metadata: { annotations = {} } }: NodeClaim, machine: Machine): string {
  const { [annotation.pricePerHour]: price, [annotation.sizeReason]: reason } = annotations;
  const what = `${machine.instanceType} (${machine.capacityType}) in ${machine.zone}`;
  return `${what}${price === undefined ? '' : ` at ${moneyOf(price)} an hour`}${reason === undefined ? '' : `: ${reason}`}`;
}

/** The price of the annotation, `0.388 USD`, as events have it. */
function moneyOf(price: string): string {
  const [amount = '', currency = ''] = price.split(' ');
  return withCurrency(amount, currency);
}

/**
 * Who writes a claim by hand leaves it out; its node gets it with the others. None where the name is too long for one.
 */
function classLabel({ metadata: { name } }: NodeClass): Readonly<Record<string, string>> {
  return isLabelValue(name) ? { [label.nodeClass]: name } : {};
}

function changed(
  present: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(wanted).filter(([key, value]) => present[key] !== value));
}

function launched(types: ReadonlyArray<InstanceType>, machine: Machine): StatusChange {
  const instanceType = types.find(({ name }) => name === machine.instanceType);
  return {
    conditions: [{ type: 'Launched', status: 'True', reason: 'Launched', message: '' }, NODE_NOT_FOUND],
    fields: {
      providerID: machine.providerId,
      imageID: machine.imageId,
      ...(instanceType === undefined
        ? {}
        : { capacity: instanceType.capacity, allocatable: allocatableOf(instanceType) }),
    },
  };
}

/**
 * The claim as it was written; null when it is on its way out. Throws RetryableError when somebody else wrote in
 * between.
 */
async function take(ports: Ports, name: string, outcome: WriteOutcome<NodeClaim>): Promise<NodeClaim | null> {
  return outcome.kind !== 'written' && (await isLeaving(ports, name)) ? null : written(outcome, name);
}

async function isLeaving(ports: Ports, name: string): Promise<boolean> {
  const claim = await ports.kubernetes.get('NodeClaim', { name, namespace: null });
  return claim === null || claim.metadata.deletionTimestamp !== undefined;
}

/**
 * Another process removes the claim, and may have asked for its machine before there was one: nobody else would soon.
 */
async function takeBack(ports: Ports, name: string): Promise<FollowOutcome> {
  await ports.cloud.delete(name);
  ports.log('machine-taken-back', { claim: name });
  return { kind: 'ended', why: 'its claim has gone meanwhile' };
}
