import { flag, list, needed, number, object, record, text, textOrNumber } from './field.ts';
import { metadata, nodeSelectorTerms } from './reduced-spec.ts';

/**
 * What a snapshot keeps of dynamic resource allocation. Names and forms are Kubernetes' (resource.k8s.io/v1, API 1.36).
 */

const attribute = object({
  int: number,
  bool: flag,
  string: text,
  version: text,
  ints: list(number),
  bools: list(flag),
  strings: list(text),
  versions: list(text),
});

const capacity = object({
  value: needed(textOrNumber),
  requestPolicy: object({
    default: textOrNumber,
    validValues: list(textOrNumber),
    validRange: object({ min: textOrNumber, max: textOrNumber, step: textOrNumber }),
  }),
});

const counters = record(object({ value: needed(textOrNumber) }));

const nodeSelector = object({ nodeSelectorTerms: needed(nodeSelectorTerms) });

const device = object({
  name: needed(text),
  attributes: record(attribute),
  capacity: record(capacity),
  consumesCounters: list(object({ counterSet: needed(text), counters })),
  nodeName: text,
  nodeSelector,
  allNodes: flag,
  taints: list(object({ key: needed(text), value: text, effect: needed(text) })),
  allowMultipleAllocations: flag,
});

/** Devices as their driver publishes them, in parts of a pool. */
export const resourceSlice = object({
  metadata: needed(metadata),
  spec: needed(
    object({
      driver: needed(text),
      pool: needed(object({ name: needed(text), generation: needed(number), resourceSliceCount: needed(number) })),
      nodeName: text,
      nodeSelector,
      allNodes: flag,
      perDeviceNodeSelection: flag,
      devices: list(device),
      sharedCounters: list(object({ name: needed(text), counters })),
    }),
  ),
});

const selectors = list(object({ cel: object({ expression: needed(text) }) }));

/** A class of devices. */
export const deviceClass = object({ metadata: needed(metadata), spec: object({ selectors }) });

const asked = {
  deviceClassName: text,
  selectors,
  allocationMode: text,
  count: number,
  adminAccess: flag,
  tolerations: list(object({ key: text, operator: text, value: text, effect: text })),
  capacity: object({ requests: record(textOrNumber) }),
};

const claimSpec = object({
  devices: object({
    requests: list(
      object({
        name: needed(text),
        exactly: object(asked),
        firstAvailable: list(object({ name: needed(text), ...asked })),
      }),
    ),
    constraints: list(object({ requests: list(text), matchAttribute: text, distinctAttribute: text })),
  }),
});

/** A claim for devices, with those that it holds. */
export const resourceClaim = object({
  metadata: needed(metadata),
  spec: needed(claimSpec),
  status: object({
    allocation: object({
      devices: object({
        results: list(
          object({
            request: needed(text),
            driver: needed(text),
            pool: needed(text),
            device: needed(text),
            adminAccess: flag,
            shareID: text,
            consumedCapacity: record(textOrNumber),
          }),
        ),
      }),
      nodeSelector,
    }),
    reservedFor: list(object({ resource: needed(text), name: needed(text), uid: needed(text) })),
  }),
});

/** What claims of pods are made from. */
export const resourceClaimTemplate = object({
  metadata: needed(metadata),
  spec: needed(object({ spec: needed(claimSpec) })),
});
