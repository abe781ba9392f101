import type { Worker } from '../../../functions/execution.ts';

/** Of a worker whose executions are never over. */
export const never: Worker['after'] = () => () => undefined;
