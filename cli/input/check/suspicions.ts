import { labelKeyMeant } from '../../../shared/kubernetes/pool-labels.ts';
import { foreignLabel } from './foreign-labels.ts';
import { listAt, mapAt, textAt } from '../json-fields.ts';
import type { JsonObject } from '../objects.ts';
import { podSpecOf } from '../pod-spec-of.ts';

/**
 * What is valid and hardly meant, one line each: a label key that is nearly a well-known one or another cloud's,
 * thousandths of a byte.
 */
export function suspicionsOf(kind: string, value: JsonObject): ReadonlyArray<string> {
  if (kind === 'NodePool') {
    const path = 'spec.template.spec.requirements';
    return mistypedKeys(listAt(value, 'spec', 'template', 'spec', 'requirements'), path, 'key');
  }
  const pods = podSpecOf(kind, value);
  return pods === null ? [] : [...suspiciousLabels(pods.spec, pods.path), ...milliBytes(pods.spec, pods.path)];
}

function suspiciousLabels(spec: JsonObject, path: string): ReadonlyArray<string> {
  const selected = Object.keys(mapAt(spec, 'nodeSelector')).flatMap((key) =>
    suspicion(key, `${path}.nodeSelector[${key}]`),
  );
  const required = listAt(
    spec,
    'affinity',
    'nodeAffinity',
    'requiredDuringSchedulingIgnoredDuringExecution',
    'nodeSelectorTerms',
  );
  const terms = `${path}.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`;
  return [
    ...selected,
    ...required.flatMap((term, index) =>
      mistypedKeys(listAt(term, 'matchExpressions'), `${terms}[${index}].matchExpressions`, 'key'),
    ),
    ...mistypedKeys(listAt(spec, 'topologySpreadConstraints'), `${path}.topologySpreadConstraints`, 'topologyKey'),
  ];
}

function mistypedKeys(entries: ReadonlyArray<unknown>, path: string, field: string): ReadonlyArray<string> {
  return entries.flatMap((entry, index) => suspicion(textAt(entry, field), `${path}[${index}].${field}`));
}

function suspicion(key: string, path: string): ReadonlyArray<string> {
  const foreign = foreignLabel(key);
  if (foreign !== null) return [`${path}: ${foreign}`];
  const meant = labelKeyMeant(key);
  return meant === '' ? [] : [`${path}: no size has a label ${key}${meant}`];
}

function milliBytes(spec: JsonObject, path: string): ReadonlyArray<string> {
  return ['initContainers', 'containers'].flatMap((field) =>
    listAt(spec, field).flatMap((container, index) =>
      ['requests', 'limits'].flatMap((list) =>
        Object.entries(mapAt(container, 'resources', list)).flatMap(([resource, amount]) =>
          milliByte(`${path}.${field}[${index}].resources.${list}[${resource}]`, resource, amount),
        ),
      ),
    ),
  );
}

/** Resources that are counted in bytes. */
const BYTES = /^(?:memory|ephemeral-storage|hugepages-.+)$/;

function milliByte(path: string, resource: string, amount: unknown): ReadonlyArray<string> {
  if (typeof amount !== 'string' || !amount.endsWith('m') || !BYTES.test(resource)) return [];
  const number = amount.slice(0, -1);
  return [`${path}: ${amount} is thousandths of a byte (did you mean ${number}M or ${number}Mi?)`];
}
