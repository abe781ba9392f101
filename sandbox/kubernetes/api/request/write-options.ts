import type { WriteOptions } from '../state.ts';
import { invalid } from '../status-error.ts';
import type { ApiRequest } from './api-request.ts';

/** The manager of a client that names none: the first part of its User-Agent. */
function defaultManager(userAgent: string): string {
  return userAgent.split('/')[0]?.slice(0, 128) || 'unknown';
}

function refuse(field: string, value: string, supported: ReadonlyArray<string>): never {
  const list = supported.map((item) => JSON.stringify(item)).join(', ');
  throw invalid({ name: 'CreateOptions', group: 'meta.k8s.io' }, '', [
    {
      reason: 'FieldValueNotSupported',
      field,
      message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`,
    },
  ]);
}

/** Reads dryRun, fieldValidation and fieldManager of a write. Throws Invalid for values that do not exist. */
export function toWriteOptions({ query, userAgent, contentType }: ApiRequest): WriteOptions {
  // An apply must name its manager.
  const isApply = contentType.startsWith('application/apply-patch');
  const dryRun = query.getAll('dryRun').filter((value) => value !== '');
  if (dryRun.some((value) => value !== 'All')) refuse('dryRun', dryRun.join(','), ['All']);
  const validation = query.get('fieldValidation') || 'Warn';
  if (validation !== 'Strict' && validation !== 'Warn' && validation !== 'Ignore') {
    return refuse('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']);
  }
  return {
    dryRun: dryRun.length > 0,
    fieldValidation: validation,
    fieldManager: query.get('fieldManager') || (isApply ? '' : defaultManager(userAgent)),
    applies: false,
    warnings: [],
  };
}
