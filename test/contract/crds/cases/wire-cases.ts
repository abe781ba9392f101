import { buffer, claim, good, nodeClass, overlay, pool, poolOf, refused, type Case } from './case.ts';

const scalableRef = { kind: 'Deployment', name: 'worker' };
const template = 'spec.template.spec';
/** The largest integer that JavaScript tells from the next. */
const LARGEST = Number.MAX_SAFE_INTEGER;

/** What old clients, templating tools and typing mistakes send: nulls, wrong types, odd keys, a status. */
export const wireCases: ReadonlyArray<Case> = [
  refused('wire: a null spec is a missing one', { ...pool(), spec: null }, 'spec'),
  good('wire: a null spec of a class is none', { ...nodeClass(), spec: null }),
  good('wire: a null map where there is a default is the default', pool({ disruption: null })),
  good(
    'wire: a null list where there is a default is the default',
    pool({ disruption: { consolidateAfter: '1s', budgets: null } }),
  ),
  good('wire: a null list without a default is dropped', poolOf({ taints: null })),
  good('wire: null metadata of a template is dropped', pool({ template: { metadata: null, spec: claim().spec } })),
  refused('wire: a null that must be there is missing', poolOf({ nodeClassRef: null }), `${template}.nodeClassRef`),
  good('wire: a null limit is dropped', pool({ limits: { cpu: null } })),
  good('wire: a null label is dropped', poolOf({}, { labels: { a: null } })),
  good('wire: a null tag is dropped', nodeClass({ tags: { a: null } })),
  refused('wire: a null requirement is wrong', poolOf({ requirements: [null] }), `${template}.requirements[0]`),
  refused('wire: a null taint is wrong', poolOf({ taints: [null] }), `${template}.taints[0]`),
  refused(
    'wire: a null value is wrong',
    poolOf({ requirements: [{ key: 'a', operator: 'In', values: [null] }] }),
    `${template}.requirements[0].values[0]`,
  ),
  refused(
    'wire: a null reason is wrong',
    pool({ disruption: { consolidateAfter: '1s', budgets: [{ nodes: '1', reasons: [null] }] } }),
    'spec.disruption.budgets[0].reasons[0]',
  ),
  refused('wire: a duration is not a number', poolOf({ expireAfter: 720 }), `${template}.expireAfter`),
  refused('wire: a map is not a list', pool({ limits: [] }), 'spec.limits'),
  refused('wire: a list is not a map', poolOf({ taints: {} }), `${template}.taints`),
  refused('wire: a list is not text', poolOf({ taints: 'a' }), `${template}.taints`),
  refused('wire: text is not a list', poolOf({ expireAfter: ['1h'] }), `${template}.expireAfter`),
  refused('wire: text is not a map', poolOf({ expireAfter: {} }), `${template}.expireAfter`),
  refused('wire: a number is not true', pool({ weight: true }), 'spec.weight'),
  good('wire: 32 bits may all be used', buffer({ scalableRef, replicas: 2_147_483_647 })),
  refused('wire: 32 bits are not exceeded', buffer({ scalableRef, replicas: 2_147_483_648 }), 'spec.replicas'),
  refused(
    'wire: 64 bits are not exceeded',
    nodeClass({ kubelet: { podPidsLimit: 1e19 } }),
    'spec.kubelet.podPidsLimit',
  ),
  good('wire: 64 bits are kept', nodeClass({ kubelet: { podPidsLimit: LARGEST } })),
  good('wire: a limit may be named like a part of JavaScript', pool({ limits: { constructor: 1, toString: '2' } })),
  good(
    'wire: a label may be named like a part of JavaScript',
    poolOf({}, { labels: { constructor: 'x', hasOwnProperty: 'y' } }),
  ),
  good('wire: an unknown field may be named like a part of JavaScript', pool({ constructor: 1 })),
  good('wire: a name may be left to the API server', { ...pool(), metadata: { generateName: 'general-' } }),
  refused(
    'wire: the beginning of a name is lower case too',
    { ...pool(), metadata: { generateName: 'General-' } },
    'metadata.name',
  ),
  good('wire: the status of what is created is ignored', { ...pool(), status: { conditions: 'none' } }),
  good('wire: a status that is null is none', { ...claim(), status: null }),
  good('wire: a taint of an empty value has one', poolOf({ taints: [{ key: 'a', value: 'x', effect: 'NoSchedule' }] })),
  refused(
    'wire: an empty value of a taint is not a name',
    poolOf({ taints: [{ key: 'a', value: '', effect: 'NoSchedule' }] }),
    `${template}.taints[0].value`,
  ),
  refused(
    'wire: labels of the object are text',
    { ...overlay(), metadata: { name: 'a', labels: { b: 1 } } },
    'metadata.labels',
  ),
];
