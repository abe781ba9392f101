import { createObject } from '../objects/create-object.ts';
import { type ApiState, serverWrite } from '../state.ts';
import { collectGarbage } from './collect-garbage.ts';
import { endNamespaces } from './end-namespaces.ts';
import { establishDefinitions } from './establish-definitions.ts';

const firstNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** The classes that every cluster has. Source: the API server's bootstrap of scheduling.k8s.io, 1.36. */
const firstPriorityClasses = [
  { name: 'system-cluster-critical', value: 2_000_000_000 },
  { name: 'system-node-critical', value: 2_000_001_000 },
];

function createFirstObjects(state: ApiState): void {
  const namespaces = state.registry.find('', 'v1', 'namespaces');
  for (const name of namespaces === undefined ? [] : firstNamespaces) {
    if (namespaces === undefined) continue;
    createObject(state, { resource: namespaces, namespace: '', name }, { metadata: { name } }, serverWrite());
  }
  const classes = state.registry.find('scheduling.k8s.io', 'v1', 'priorityclasses');
  for (const { name, value } of firstPriorityClasses) {
    if (classes === undefined) continue;
    createObject(state, { resource: classes, namespace: '', name }, { metadata: { name }, value }, serverWrite());
  }
}

/** Creates what every cluster has and starts the loops that belong to the API. The answer stops them. */
export function startControllers(state: ApiState): () => void {
  const stops = [establishDefinitions(state), collectGarbage(state), endNamespaces(state)];
  createFirstObjects(state);
  return () => {
    for (const stop of stops) stop();
  };
}
