import { createObject } from '../objects/create-object.ts';
import type { ApiState } from '../state.ts';
import { serverWrite } from '../state.ts';

const firstNamespaces = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

function createNamespaces(state: ApiState): void {
  const resource = state.registry.find('', 'v1', 'namespaces');
  if (resource === undefined) return;
  for (const name of firstNamespaces) {
    createObject(state, { resource, namespace: '', name }, { metadata: { name } }, serverWrite());
  }
}

/** Creates what every cluster has and starts the loops that live in the API server. The answer stops them. */
export function startControllers(state: ApiState): () => void {
  createNamespaces(state);
  return () => {};
}
