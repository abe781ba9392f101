import type { SelectorRequirement } from '../../../kubernetes/manifest.ts';
import { renderForPeople } from '../../quantity/render-for-people.ts';
import { renderTaint } from '../../rules/taints.ts';
import type { ClaimProblem, PoolObstacle, LeftReason } from '../../model/left-reason.ts';
import type { Edit, Remedy } from '../../model/remedy.ts';
import { mayBeOfPool } from '../../../kubernetes/pool-labels.ts';
import { labelKey, NODE_NAME_FIELD } from '../../../kubernetes/labels.ts';

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
    fix: 'allow the pod on the node that has the devices, or free the claim',
  }),
  'devices-elsewhere': ({ nodes }) => ({
    detail: `devices for its claims are on ${nodes.slice(0, NODES_SHOWN).join(', ')}${nodes.length > NODES_SHOWN ? ' and others' : ''} only, where the pod has no room or is not let in`,
    fix: 'make room there, or allow the pod on these nodes',
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
  'storage-class-missing': ({ claim, storageClass }) => ({
    detail:
      storageClass === null
        ? `the volume claim ${claim} names no storage class, and there is no default`
        : storageClass === ''
          ? `the volume claim ${claim} asks for a volume without storage class, and names none`
          : `the volume claim ${claim} names the storage class ${storageClass}, which does not exist`,
    fix:
      storageClass === null || storageClass === ''
        ? 'set storageClassName of the claim to an existing StorageClass'
        : `create the StorageClass ${storageClass}, or set storageClassName of the claim to an existing one`,
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
  taint: ({ taint, remedies }) => ({
    detail: `taint ${renderTaint(taint)} is not tolerated`,
    fix: renderRemedies(remedies),
  }),
  'pool-contradiction': ({ wanted, remedies }) => ({
    detail: `the NodePool asks for ${renderWanted(wanted)}, which no node has${wanted.length > 1 ? ' at once' : ''}`,
    fix:
      remedies.length > 1
        ? `keep one of them: ${renderRemedies(remedies)}`
        : fixBy(remedies, 'correct the requirements or the labels of the NodePool'),
  }),
  'no-instance-type': (reason) => renderNoInstanceType(reason),
  requirement: ({ wanted, pool, meant, remedies }) => ({
    detail: `the pod asks for ${renderWanted(wanted)}, ${pool.length === 0 ? 'which no node of the NodePool has' : `and the NodePool for ${renderWanted(pool)}`}${asides(wanted)}`,
    fix: `${fixBy(remedies, 'give the cluster such nodes by other means, or change the pod')}${meant === null ? '' : `; did you mean ${meant}?`}`,
  }),
  'requirements-together': ({ wanted, pool, remedies }) => ({
    detail:
      wanted.length + pool.length === 0
        ? 'no node meets any term of the node affinity that the pod requires'
        : `the pod asks for ${renderWanted(wanted)}${pool.length === 0 ? '' : `, and the NodePool for ${renderWanted(pool)}`}, which no instance type has at once`,
    fix: fixBy(remedies, 'relax one of the pod’s node requirements or widen the NodePool'),
  }),
  resource: (reason) => renderResource(reason),
  'resources-together': ({ remedies }) => ({
    detail: 'no instance type has room for all that the pod requests, with its host ports free, beside the daemonsets',
    fix: fixBy(remedies, 'allow other sizes in the NodePool, or lower the pod’s requests'),
  }),
  limit: ({ resource, wanted, left, remedies }) => ({
    detail: `no size that holds the pod is within the limits: one takes ${renderForPeople(resource, wanted, 'up')} ${resource}, and ${renderForPeople(resource, left, 'down')} is left`,
    fix: renderRemedies(remedies),
  }),
  'min-values': ({ keys, remedies }) => ({
    detail: `too few instance types that hold the pod are left for minValues of ${keys.join(' and ')}`,
    fix: `widen the NodePool, use BestEffort, or ${renderRemedies(remedies)}`,
  }),
  'topology-spread': ({ keys }) => renderTopology('its topology spread allows', keys),
  'pod-affinity': ({ keys }) => renderTopology('its pod affinity allows', keys),
  'pod-anti-affinity': ({ keys }) => renderTopology('its pod anti-affinity allows', keys),
  'anti-affinity-of-others': ({ keys }) => renderTopology('the anti-affinity of other pods allows', keys),
  'topology-together': ({ keys }) => renderTopology('its topology rules together allow', keys),
};

function renderNoInstanceType({
  conflicts,
  available,
  remedies,
}: Extract<LeftReason, { readonly kind: 'no-instance-type' }>): RenderedReason {
  if (available === 'none') {
    return {
      detail: 'no instance type is available: Azure has refused all of them lately, or quota does not allow any',
      fix: 'wait, or raise the quota of the subscription',
    };
  }
  const which = conflicts
    .map((one) => `${renderWanted(one)}${one.length > 1 ? ' at once' : ''}`)
    .join(', and none has ');
  const fix = fixBy(remedies, 'widen the requirements of the NodePool');
  if (available === 'others') {
    return {
      detail: `every instance type with ${which} is unavailable: Azure has refused it lately, or quota does not allow it`,
      fix: `wait, raise the quota of the subscription, or ${fix}`,
    };
  }
  return {
    detail: `no available instance type has ${which}${asides(conflicts.flatMap((one) => (one.length === 1 ? one : [])))}`,
    fix,
  };
}

function renderResource({
  resource,
  wanted,
  most,
  largest,
  remedies,
}: Extract<LeftReason, { readonly kind: 'resource' }>): RenderedReason {
  const asked = `the pod requests ${renderForPeople(resource, wanted, 'up')} ${resource}`;
  const known = renderForPeople(resource, largest, 'down');
  if (largest === '0') {
    const why = resource.startsWith('hugepages-') ? ': nodes are made without huge pages' : '';
    return {
      detail: `${asked}, and no instance type has any${why}`,
      fix: fixBy(remedies, `remove the request of ${resource}`),
    };
  }
  const offered = renderForPeople(resource, most, 'down');
  return {
    detail: `${asked}, and a node of the NodePool has at most ${offered} beside its daemonsets${known === offered ? '' : ` (the largest size has ${known})`}`,
    fix: fixBy(
      remedies,
      `allow ${most === '0' ? `sizes with ${resource}` : 'larger sizes'} in the NodePool, or lower the pod’s requests`,
    ),
  };
}

function fixBy(remedies: ReadonlyArray<Remedy>, otherwise: string): string {
  return remedies.length === 0 ? otherwise : renderRemedies(remedies);
}

/** Why there is no node with a label, where that is not seen from the label. */
function asides(wanted: ReadonlyArray<SelectorRequirement>): string {
  const told = [...new Set(wanted.flatMap((one) => asideOn(one) ?? []))];
  return told.length === 0 ? '' : `: ${told.join('; ')}`;
}

function asideOn({ key, values = [] }: SelectorRequirement): string | null {
  if (key === 'kubernetes.io/os' && values.includes('windows')) return 'nodes with Windows are not supported';
  if (key === labelKey.capacityType && values.includes('reserved'))
    return 'no capacity reservation has room for a node';
  if (key === labelKey.hostname || key === NODE_NAME_FIELD) return 'the name of a new node is not known before';
  if (key === labelKey.nodePool || mayBeOfPool(key)) return null;
  const instead = INSTEAD[key];
  return `no NodePool can provide such a node, as none may name ${key}${instead === undefined ? '' : ` (${instead})`}`;
}

const POOLS = 'a pod asks for a NodePool by karpenter.sh/nodepool';
const GPUS = 'a pod gets a GPU by its requests, and asks for a kind of it by karpenter.azure.com/sku-gpu-name';

/** Labels that AKS gives the nodes of its own pools, and what does the same here. */
const INSTEAD: Readonly<Record<string, string>> = {
  agentpool: POOLS,
  'kubernetes.azure.com/agentpool': POOLS,
  accelerator: GPUS,
  'kubernetes.azure.com/accelerator': GPUS,
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
        fix: 'create another NodePool without spec.replicas, or let the pod use one',
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

/** Remedies in words, each an instruction; empty for none. */
function renderRemedies(remedies: ReadonlyArray<Remedy>): string {
  return remedies.map((edits) => edits.map(renderEdit).join(' and ')).join(', or ');
}

/** A change in words. What it says is done is what `Edit` is. */
function renderEdit(edit: Edit): string {
  // As above: the field picks the renderer of its own edit.
  // oxlint-disable-next-line no-unsafe-type-assertion
  const render = editRenderers[edit.field] as (one: Edit) => string;
  return render(edit);
}

const ofClass = ({ field, value }: Extract<Edit, { readonly object: 'AKSNodeClass' }>): string =>
  `set ${field} of the AKSNodeClass to ${value}`;

const editRenderers: {
  readonly [Field in Edit['field']]: (edit: Extract<Edit, { readonly field: Field }>) => string;
} = {
  'spec.template.spec.requirements': ({ key, value }) =>
    value.length === 0
      ? `remove the requirements on ${key} from the NodePool`
      : `let the NodePool have ${renderWanted(value)}`,
  'spec.template.spec.requirements.minValues': ({ key }) => `remove minValues of ${key} from the NodePool`,
  'spec.template.metadata.labels': ({ key, value }) =>
    value === null
      ? `remove the label ${key} from the NodePool`
      : `give the NodePool the label ${key}: ${JSON.stringify(value)}`,
  'spec.limits': ({ key, value }) => `raise spec.limits of the NodePool for ${key} to ${value}`,
  'spec.imageFamily': ofClass,
  'spec.fipsMode': ofClass,
  'spec.osDiskSizeGB': ofClass,
  'spec.tolerations': ({ value: { key = '', value = '', effect = '' } }) =>
    `add a toleration for ${renderTaint({ key, value, effect })}`,
  'spec.nodeSelector': ({ key, value }) =>
    value === null ? `remove ${key} from what the pod asks of nodes` : `let the pod ask for ${key} In [${value}]`,
  'spec.containers.resources.requests': ({ key, value }) =>
    value === null ? `remove the pod’s requests of ${key}` : `lower the pod’s requests of ${key} to ${value}`,
};

/** `topology.kubernetes.io/zone In [westeurope-1, westeurope-2]`; an empty value in quotes, as it would not be seen. */
export function renderWanted(wanted: ReadonlyArray<SelectorRequirement>): string {
  return wanted.map(renderRequirement).join(' and ');
}

function renderRequirement({ key, operator, values = [] }: SelectorRequirement): string {
  if (values.length === 0) return `${key} ${operator}`;
  return `${key} ${operator} [${values.map((value) => (value === '' ? '""' : value)).join(', ')}]`;
}
