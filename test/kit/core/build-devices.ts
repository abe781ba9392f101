import { createDeviceSelectors } from '../../../shared/adapters/cel/device-selectors.ts';
import type { Pod } from '../../../shared/core/model/cluster.ts';
import type {
  DeviceClass,
  DeviceConstraint,
  DeviceRequest,
  ExactDeviceRequest,
  PublishedDevice,
  ResourceClaim,
  ResourceClaimTemplate,
  ResourceSlice,
  ResourceSliceSpec,
} from '../../../shared/kubernetes/device-manifest.ts';
import type { PodSpec } from '../../../shared/kubernetes/manifest.ts';
import type { DeviceSupport } from '../../../shared/core/model/provisioning-input.ts';
import { spec } from './build.ts';

export const driver = 'gpu.example.com';

/** With the CEL of the product. `templates`: of the pool, by instance type. */
export function planned(
  templates: Readonly<Record<string, ReadonlyArray<ResourceSliceSpec>>> = {},
  nodePool = 'general',
): DeviceSupport {
  const ofPool = new Map(Object.entries(templates));
  return { kind: 'planned', compile: createDeviceSelectors(), templates: new Map([[nodePool, ofPool]]) };
}

/** All devices of the driver, or those that the expression takes as well. */
export function deviceClass(name = 'gpu', ...expressions: ReadonlyArray<string>): DeviceClass {
  const selectors = [`device.driver == "${driver}"`, ...expressions].map((expression) => ({ cel: { expression } }));
  return { metadata: { name }, spec: { selectors } };
}

/** `count` devices `gpu-0`, `gpu-1` and so on. */
export function gpus(count: number, parts: Partial<PublishedDevice> = {}): ReadonlyArray<PublishedDevice> {
  return Array.from({ length: count }, (_, index) => ({ name: `gpu-${index}`, ...parts }));
}

export function sliceSpec(
  pool: string,
  devices: ReadonlyArray<PublishedDevice>,
  parts: Partial<ResourceSliceSpec> = {},
): ResourceSliceSpec {
  return { driver, pool: { name: pool, generation: 1, resourceSliceCount: 1 }, devices, ...parts };
}

/** The slice of a node's own devices, in a pool of the node's name. */
export function nodeSlice(
  node: string,
  devices: ReadonlyArray<PublishedDevice>,
  parts: Partial<ResourceSliceSpec> = {},
): ResourceSlice {
  return { metadata: { name: `slice-${node}` }, spec: sliceSpec(node, devices, { nodeName: node, ...parts }) };
}

/** A slice of devices that other nodes reach too, as `parts` say. */
export function sharedSlice(
  pool: string,
  devices: ReadonlyArray<PublishedDevice>,
  parts: Partial<ResourceSliceSpec>,
): ResourceSlice {
  return { metadata: { name: `slice-${pool}` }, spec: sliceSpec(pool, devices, parts) };
}

export function request(name: string, exactly: Partial<ExactDeviceRequest> = {}): DeviceRequest {
  return { name, exactly: { deviceClassName: 'gpu', ...exactly } };
}

export function inZone(...zones: ReadonlyArray<string>): NonNullable<ResourceSliceSpec['nodeSelector']> {
  const expression = { key: 'topology.kubernetes.io/zone', operator: 'In', values: zones };
  return { nodeSelectorTerms: [{ matchExpressions: [expression] }] };
}

interface ClaimParts {
  readonly requests?: ReadonlyArray<DeviceRequest>;
  readonly constraints?: ReadonlyArray<DeviceConstraint>;
}

function claimSpec({ requests = [request('gpu')], constraints = [] }: ClaimParts): ResourceClaim['spec'] {
  return { devices: { requests, constraints } };
}

export function claim(name: string, parts: ClaimParts = {}, status?: ResourceClaim['status']): ResourceClaim {
  const base = { metadata: { name, namespace: 'default' }, spec: claimSpec(parts) };
  return status === undefined ? base : { ...base, status };
}

export function template(name: string, parts: ClaimParts = {}): ResourceClaimTemplate {
  return { metadata: { name, namespace: 'default' }, spec: { spec: claimSpec(parts) } };
}

/** The claim holds `gpu-…` devices of the node, for these pods. */
export function heldOn(
  node: string,
  devices: ReadonlyArray<string>,
  users: ReadonlyArray<Pick<Pod, 'uid' | 'name'>>,
): NonNullable<ResourceClaim['status']> {
  const results = devices.map((device) => ({ request: 'gpu', driver, pool: node, device }));
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [node] }];
  return {
    allocation: { devices: { results }, nodeSelector: { nodeSelectorTerms: [{ matchFields }] } },
    reservedFor: users.map(({ uid, name }) => ({ resource: 'pods', uid, name })),
  };
}

/** A pod of one core whose claims are made from these templates. */
export function fromTemplates(...templates: ReadonlyArray<string>): PodSpec {
  const resourceClaims = templates.map((name) => ({ name: `my-${name}`, resourceClaimTemplateName: name }));
  return spec('1', '1Gi', { resourceClaims });
}

/** A pod of one core that uses these claims. */
export function using(...claims: ReadonlyArray<string>): PodSpec {
  return spec('1', '1Gi', { resourceClaims: claims.map((name) => ({ name, resourceClaimName: name })) });
}
