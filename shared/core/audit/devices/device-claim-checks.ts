import type {
  CapacityRequestPolicy,
  DeviceAttribute,
  DeviceCapacity,
  DeviceConstraint,
  DeviceSelector,
  ExactDeviceRequest,
  ResourceClaimSpec,
} from '../../../kubernetes/device-manifest.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import { thousandths, type AuditedDevice } from './published-devices.ts';

/** A device that a claim is planned to hold. */
export interface AllocatedDevice {
  readonly request: string;
  readonly device: AuditedDevice;
}

/**
 * What is wrong with giving these devices to a claim, by the API's own description of requests and constraints; empty
 * when nothing is. `reached`: all devices that the claim could have there, for requests that want all of them.
 */
export function checkAllocated(
  spec: ResourceClaimSpec,
  given: ReadonlyArray<AllocatedDevice>,
  reached: ReadonlyArray<AuditedDevice>,
  input: ProvisioningInput,
): ReadonlyArray<string> {
  const { requests = [], constraints = [] } = spec.devices ?? {};
  const problems: Array<string> = [];
  const known = new Set<string>();
  for (const { name, exactly, firstAvailable = [] } of requests) {
    const own = given.filter(({ request }) => request === name || request.startsWith(`${name}/`));
    const used = new Set(own.map(({ request }) => request));
    const [request = name] = used;
    const asked = exactly ?? firstAvailable.find((one) => `${name}/${one.name}` === request);
    for (const one of used) known.add(one);
    if (used.size > 1 || asked === undefined) problems.push(`request ${name} is met in several ways or in none`);
    else problems.push(...checkRequest(request, asked, { own, reached, input }));
  }
  if (given.some(({ request }) => !known.has(request))) problems.push('devices are given that no request asks for');
  return [...problems, ...constraints.flatMap((constraint) => checkConstraint(constraint, given))];
}

function checkConstraint(
  { requests: scope = [], matchAttribute, distinctAttribute }: DeviceConstraint,
  given: ReadonlyArray<AllocatedDevice>,
): ReadonlyArray<string> {
  const own = given.filter(
    ({ request }) => scope.length === 0 || scope.includes(request) || scope.includes(request.replace(/\/.*/, '')),
  );
  const name = matchAttribute ?? distinctAttribute ?? '';
  const sets = own.map(({ device }) => valuesOf(device, name));
  const holds = matchAttribute === undefined ? areDistinct(sets) : haveOneInCommon(sets);
  return holds ? [] : [`the constraint on ${name} does not hold`];
}

interface RequestAnswer {
  readonly own: ReadonlyArray<AllocatedDevice>;
  readonly reached: ReadonlyArray<AuditedDevice>;
  readonly input: ProvisioningInput;
}

function checkRequest(
  name: string,
  asked: ExactDeviceRequest,
  { own, reached, input }: RequestAnswer,
): ReadonlyArray<string> {
  const deviceClass = input.cluster.deviceClasses.find(({ metadata }) => metadata.name === asked.deviceClassName);
  if (deviceClass === undefined) return [`the class of request ${name} does not exist`];
  const selectors = [...(deviceClass.spec?.selectors ?? []), ...(asked.selectors ?? [])];
  const matching = (device: AuditedDevice): boolean => selectors.every((one) => isSelected(one, device, input));
  const problems = checkCount(name, asked, {
    own,
    // Only a request for all asks what else there is.
    candidates:
      asked.allocationMode === 'All' ? reached.filter((one) => matching(one) && shareOf(one, asked) !== null) : [],
  });
  for (const { device } of own) {
    if (!matching(device)) problems.push(`request ${name} does not select ${device.id}`);
    if (shareOf(device, asked) === null) problems.push(`request ${name} cannot have that share of ${device.id}`);
    if (!isTolerated(device, asked)) problems.push(`request ${name} does not tolerate the taints of ${device.id}`);
  }
  return problems;
}

/** `All` are the devices that have such a share; of those that can be shared, only those with room for it. */
function checkCount(
  name: string,
  { allocationMode, count = 1 }: ExactDeviceRequest,
  { own, candidates }: { readonly own: RequestAnswer['own']; readonly candidates: ReadonlyArray<AuditedDevice> },
): Array<string> {
  const distinct = new Set(own.map(({ device }) => device.id));
  const needed = candidates.filter(({ published }) => published.allowMultipleAllocations !== true);
  const isRight =
    allocationMode === 'All'
      ? distinct.size > 0 && needed.every(({ id }) => distinct.has(id))
      : distinct.size === count;
  return isRight && distinct.size === own.length ? [] : [`request ${name} gets ${distinct.size} devices`];
}

function isTolerated({ published }: AuditedDevice, { tolerations = [] }: ExactDeviceRequest): boolean {
  const bars = (published.taints ?? []).filter(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute');
  return bars.every((taint) =>
    tolerations.some(({ key = '', operator = 'Equal', value = '', effect = '' }) => {
      const sameKey = key === taint.key || (key === '' && operator === 'Exists');
      const sameValue = operator === 'Exists' || value === (taint.value ?? '');
      return sameKey && sameValue && (effect === '' || effect === taint.effect);
    }),
  );
}

function isSelected({ cel }: DeviceSelector, { driver, published }: AuditedDevice, input: ProvisioningInput): boolean {
  if (cel === undefined || input.devices.kind === 'ignored') return false;
  const predicate = input.devices.compile(cel.expression);
  return typeof predicate === 'function' && predicate({ driver, device: published }) === true;
}

/** By capacity what the request takes of the device; null when the capacity's rules do not allow it. */
export function shareOf({ published }: AuditedDevice, asked: ExactDeviceRequest): ReadonlyMap<string, number> | null {
  const wanted = asked.capacity?.requests ?? {};
  const capacities = published.capacity ?? {};
  if (Object.keys(wanted).some((name) => capacities[name] === undefined)) return null;
  const shares = new Map<string, number>();
  for (const [name, capacity] of Object.entries(capacities)) {
    const share = sizeOf(capacity, wanted[name]);
    if (share === null || share > thousandths(capacity.value, 'down')) return null;
    shares.set(name, share);
  }
  return shares;
}

function sizeOf({ value, requestPolicy }: DeviceCapacity, wanted: string | number | undefined): number | null {
  const { default: usual, validValues = [], validRange } = requestPolicy ?? {};
  if (wanted === undefined) return thousandths(usual ?? value, usual === undefined ? 'down' : 'up');
  const amount = thousandths(wanted, 'up');
  if (usual !== undefined && amount === thousandths(usual, 'up')) return amount;
  if (validRange !== undefined) return sizeInRange(amount, validRange);
  if (validValues.length === 0) return amount;
  const allowed = validValues.map((one) => thousandths(one, 'up')).filter((one) => one >= amount);
  return allowed.length === 0 ? null : Math.min(...allowed);
}

function sizeInRange(
  amount: number,
  { min = 0, max, step }: NonNullable<CapacityRequestPolicy['validRange']>,
): number | null {
  const least = thousandths(min, 'up');
  const stride = step === undefined ? 0 : thousandths(step, 'up');
  let share = Math.max(least, amount);
  if (stride > 0 && (share - least) % stride !== 0) share += stride - ((share - least) % stride);
  return max !== undefined && share > thousandths(max, 'up') ? null : share;
}

function valuesOf({ driver, published }: AuditedDevice, name: string): ReadonlyArray<string> {
  const attributes = published.attributes ?? {};
  const attribute: DeviceAttribute | undefined =
    attributes[name] ?? (name.startsWith(`${driver}/`) ? attributes[name.slice(driver.length + 1)] : undefined);
  return Object.entries(attribute ?? {}).flatMap(([type, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => `${type.replace(/s$/, '')}:${String(one)}`),
  );
}

function haveOneInCommon(sets: ReadonlyArray<ReadonlyArray<string>>): boolean {
  const [first] = sets;
  return first === undefined || first.some((value) => sets.every((one) => one.includes(value)));
}

function areDistinct(sets: ReadonlyArray<ReadonlyArray<string>>): boolean {
  const all = sets.flatMap((one) => [...new Set(one)]);
  return sets.every((one) => one.length > 0) && new Set(all).size === all.length;
}
