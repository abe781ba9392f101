import type { SelectorRequirement } from '../../../kubernetes/manifest.ts';
import { renderForPeople } from '../../quantity/render-for-people.ts';
import { renderTaint } from '../../rules/taints.ts';
import type { ClaimProblem, PoolObstacle, LeftReason } from '../../model/left-reason.ts';

/** A reason in words. Neither ends with a full stop. */
export interface RenderedReason {
  /** What rules the pod out. */
  readonly detail: string;
  /** An instruction: what would let it in. */
  readonly fix: string;
}

/** The words for a reason, without the pool's name: the only place that has them. */
export function renderLeftReason(reason: LeftReason): RenderedReason {
  // The kind picks the renderer of its own reason, which the compiler does not follow.
  // oxlint-disable-next-line no-unsafe-type-assertion
  const render = renderers[reason.kind] as (one: LeftReason) => RenderedReason;
  return render(reason);
}

const renderers: {
  readonly [Kind in LeftReason['kind']]: (reason: Extract<LeftReason, { readonly kind: Kind }>) => RenderedReason;
} = {
  'plan-refused': ({ finding }) => ({
    detail: `no plan for it passed the audit, which is a fault of Nodewright: ${finding}`,
    fix: 'report it; it is planned again with every look, and other pods do not wait for it',
  }),
  'claims-ignored': () => ({
    detail: 'the pod has resource claims (DRA), and IGNORE_DRA_REQUESTS is true',
    fix: 'set IGNORE_DRA_REQUESTS to false, or remove the resource claims from the pod',
  }),
  'resource-claim': ({ object, why }) => renderClaimProblem(object, why),
  'claim-elsewhere': ({ claim }) => ({
    detail: `the ResourceClaim ${claim} holds devices that no node for the pod reaches`,
    fix: 'let the pod onto the node of the devices, or free the claim',
  }),
  'devices-elsewhere': ({ nodes }) => ({
    detail: `devices for its claims are on ${nodes.slice(0, NODES_SHOWN).join(', ')}${nodes.length > NODES_SHOWN ? ' and others' : ''} only, where the pod has no room or is not let in`,
    fix: 'make room there, or let the pod onto these nodes',
  }),
  'devices-short': ({ claim, request, classes, wanted, matching, free }) => ({
    detail: `request ${request} of ${claim} asks for ${wanted} of class ${classes.join(' or ')}: ${matching} in the cluster match, ${free} are free, and no size of the NodePools is known to bring enough`,
    fix: 'free devices, or add nodes that have them',
  }),
  'devices-together': () => ({
    detail: 'no node has free devices that meet all requests of its claims together',
    fix: 'free devices, add nodes that have them, or ask for less',
  }),
  'device-selector': ({ error }) => ({
    detail: error,
    fix: 'correct the selector: test whether a device has an attribute before reading it',
  }),
  'devices-search': () => ({
    detail: 'no devices for its claims were found within the bound on the search',
    fix: 'simplify the constraints of the claims',
  }),
  'volume-claim-missing': ({ claim }) => ({
    detail: `the volume claim ${claim} does not exist`,
    fix: 'create the PersistentVolumeClaim',
  }),
  'volume-claim-lost': ({ claim }) => ({
    detail: `the volume claim ${claim} is being deleted or lost`,
    fix: 'replace the PersistentVolumeClaim',
  }),
  'volume-missing': ({ claim, volume }) => ({
    detail: `the volume ${volume} of claim ${claim} does not exist or is being deleted`,
    fix: 'bind another volume',
  }),
  'volume-binding': ({ claim, volume }) => ({
    detail: `the volume claim ${claim} names the volume ${volume} and is not bound to it yet`,
    fix: 'wait until the two are bound, or look at the events of the claim',
  }),
  'storage-class-missing': ({ claim }) => ({
    detail: `the volume claim ${claim} has no storage class that exists`,
    fix: 'name an existing StorageClass',
  }),
  'volume-not-bound': ({ claim }) => ({
    detail: `the volume claim ${claim} is not bound, and its class binds at once`,
    fix: 'wait for the volume to be bound, or use a class with WaitForFirstConsumer',
  }),
  contradiction: ({ wanted }) => ({
    detail: `the pod asks for ${renderWanted(wanted)}, which no node has at once`,
    fix: 'correct the node selector or the node affinity of the pod',
  }),
  'no-node-pool': () => ({ detail: 'there is no NodePool', fix: 'create a NodePool' }),
  'pool-not-usable': ({ why }) => renderObstacle(why),
  taint: ({ taint }) => ({
    detail: `taint ${renderTaint(taint)} is not tolerated`,
    fix: `add a toleration for ${renderTaint(taint)}`,
  }),
  'pool-contradiction': ({ wanted }) => ({
    detail: `the NodePool asks for ${renderWanted(wanted)}, which no node has at once`,
    fix: 'correct the requirements or the labels of the NodePool',
  }),
  'no-instance-type': () => ({
    detail: 'no available instance type meets the requirements of the NodePool',
    fix: 'widen the requirements of the NodePool',
  }),
  requirement: ({ wanted, pool, meant }) => ({
    detail: `the pod asks for ${renderWanted(wanted)}, ${pool.length === 0 ? 'which no node of the NodePool has' : `and the NodePool for ${renderWanted(pool)}`}`,
    fix: `let the NodePool have ${renderWanted(wanted)}, or change the pod${meant === null ? '' : `; did you mean ${meant}?`}`,
  }),
  'requirements-together': () => ({
    detail: 'no instance type meets all of the pod’s node requirements at once',
    fix: 'relax one of the pod’s node requirements or widen the NodePool',
  }),
  resource: ({ resource, wanted, most }) => ({
    detail: `the pod requests ${renderForPeople(resource, wanted, 'up')} ${resource}, and the most that a node of the NodePool has beside the daemonsets is ${renderForPeople(resource, most, 'down')}`,
    fix: 'allow larger sizes in the NodePool, or lower the pod’s requests',
  }),
  'resources-together': () => ({
    detail: 'no instance type has room for all that the pod requests, with its host ports free, beside the daemonsets',
    fix: 'allow other sizes in the NodePool, or lower the pod’s requests',
  }),
  limit: ({ resource, wanted, left }) => ({
    detail: `no size that holds the pod is within the limits: one takes ${renderForPeople(resource, wanted, 'up')} ${resource}, and ${renderForPeople(resource, left, 'down')} is left`,
    fix: `raise spec.limits of the NodePool for ${resource}`,
  }),
  'min-values': ({ keys }) => ({
    detail: `too few instance types that hold the pod are left for minValues of ${keys.join(' and ')}`,
    fix: 'lower minValues, widen the NodePool, or use BestEffort',
  }),
  'topology-spread': ({ keys }) => renderTopology('its topology spread allows', keys),
  'pod-affinity': ({ keys }) => renderTopology('its pod affinity allows', keys),
  'pod-anti-affinity': ({ keys }) => renderTopology('its pod anti-affinity allows', keys),
  'anti-affinity-of-others': ({ keys }) => renderTopology('the anti-affinity of other pods allows', keys),
  'topology-together': ({ keys }) => renderTopology('its topology rules together allow', keys),
};

/** Nodes named in one reason. */
const NODES_SHOWN = 5;

function renderClaimProblem(object: string, why: ClaimProblem): RenderedReason {
  switch (why.kind) {
    case 'missing':
      return { detail: `the ${object} does not exist`, fix: `create the ${object}` };
    case 'deleting':
      return { detail: `the ${object} is being deleted`, fix: 'wait for its successor, or name another' };
    case 'not-listed':
      return {
        detail: 'a container names a resource claim that the pod does not list',
        fix: 'list it in spec.resourceClaims',
      };
    case 'class-missing':
      return {
        detail: `the ${object}: request ${why.request} names the device class ${why.deviceClass}, which does not exist`,
        fix: `create the DeviceClass ${why.deviceClass}, or name another`,
      };
    case 'selector':
      return {
        detail: `the ${object}: a selector of ${why.origin} is not valid CEL: ${why.error}`,
        fix: `correct ${why.expression}`,
      };
    case 'unknown':
      return { detail: `the ${object}: ${why.part} is of an unknown kind`, fix: `use ${why.known}` };
    default:
      return why satisfies never;
  }
}

function renderTopology(rule: string, keys: ReadonlyArray<string>): RenderedReason {
  return {
    detail: `${rule} no ${keys.join(' or ')} that the NodePool can give a node`,
    fix: 'let the NodePool offer more of them, or relax the rule',
  };
}

function renderObstacle(why: PoolObstacle): RenderedReason {
  switch (why.kind) {
    case 'foreign-class':
      return {
        detail: `the NodePool uses ${why.classKind} of ${why.group}, which is not ours`,
        fix: 'create a NodePool whose nodeClassRef names an AKSNodeClass of karpenter.azure.com',
      };
    case 'deleting':
      return { detail: 'the NodePool is being deleted', fix: 'create it again, or another' };
    case 'static':
      return {
        detail: 'the NodePool is static: it has a fixed number of nodes',
        fix: 'leave out spec.replicas, or let the pod use another NodePool',
      };
    case 'not-ready':
      return {
        detail: `the NodePool is not ready${why.message === '' ? '' : `: ${why.message}`}`,
        fix: 'see the conditions of the NodePool and its node class',
      };
    case 'without-instance-types':
      return {
        detail: 'the NodePool has no instance types: its node class may not be ready',
        fix: 'see the conditions of its node class',
      };
    default:
      return why satisfies never;
  }
}

/** `topology.kubernetes.io/zone In [westeurope-1, westeurope-2]`. */
export function renderWanted(wanted: ReadonlyArray<SelectorRequirement>): string {
  return wanted
    .map(
      ({ key, operator, values = [] }) => `${key} ${operator}${values.length === 0 ? '' : ` [${values.join(', ')}]`}`,
    )
    .join(' and ');
}
