import { choice, fieldsOf, flag, listOf, mapOf, needed, quantity, text, wholeNumber } from './judge.ts';
import { nodeSelectorTerms } from './pod-judge.ts';

/** What the API server would say of the kinds of dynamic resource allocation, as far as plans read them. */

const nodeSelector = fieldsOf({ nodeSelectorTerms: needed(nodeSelectorTerms) });
const counters = mapOf(fieldsOf({ value: needed(quantity) }));

const capacity = fieldsOf({
  value: needed(quantity),
  requestPolicy: fieldsOf({
    default: quantity,
    validValues: listOf(quantity),
    validRange: fieldsOf({ min: quantity, max: quantity, step: quantity }),
  }),
});

const device = fieldsOf({
  name: needed(text),
  capacity: mapOf(capacity),
  consumesCounters: listOf(fieldsOf({ counterSet: needed(text), counters })),
  nodeName: text,
  nodeSelector,
  allNodes: flag,
  taints: listOf(fieldsOf({ key: needed(text), value: text, effect: needed(text) })),
  allowMultipleAllocations: flag,
});

/** A ResourceSlice. */
export const resourceSlice = fieldsOf({
  spec: needed(
    fieldsOf({
      driver: needed(text),
      pool: needed(
        fieldsOf({
          name: needed(text),
          generation: needed(wholeNumber(0)),
          resourceSliceCount: needed(wholeNumber(1)),
        }),
      ),
      nodeName: text,
      nodeSelector,
      allNodes: flag,
      perDeviceNodeSelection: flag,
      devices: listOf(device),
      sharedCounters: listOf(fieldsOf({ name: needed(text), counters })),
    }),
  ),
});

const selectors = listOf(fieldsOf({ cel: fieldsOf({ expression: needed(text) }) }));

/** A DeviceClass. */
export const deviceClass = fieldsOf({ spec: fieldsOf({ selectors }) });

const asked = {
  deviceClassName: needed(text),
  selectors,
  allocationMode: choice('ExactCount', 'All'),
  count: wholeNumber(1),
  adminAccess: flag,
  tolerations: listOf(fieldsOf({ key: text, operator: choice('Exists', 'Equal'), value: text, effect: text })),
  capacity: fieldsOf({ requests: mapOf(quantity) }),
};

const claimSpec = fieldsOf({
  devices: fieldsOf({
    requests: listOf(
      fieldsOf({
        name: needed(text),
        exactly: fieldsOf(asked),
        firstAvailable: listOf(fieldsOf({ name: needed(text), ...asked })),
      }),
    ),
    constraints: listOf(fieldsOf({ requests: listOf(text), matchAttribute: text, distinctAttribute: text })),
  }),
});

const result = fieldsOf({ request: needed(text), driver: needed(text), pool: needed(text), device: needed(text) });

/** A ResourceClaim, with what it holds. */
export const resourceClaim = fieldsOf({
  spec: needed(claimSpec),
  status: fieldsOf({
    allocation: fieldsOf({ devices: fieldsOf({ results: listOf(result) }), nodeSelector }),
    reservedFor: listOf(fieldsOf({ resource: needed(text), name: needed(text), uid: needed(text) })),
  }),
});

/** A ResourceClaimTemplate. */
export const resourceClaimTemplate = fieldsOf({ spec: needed(fieldsOf({ spec: needed(claimSpec) })) });
