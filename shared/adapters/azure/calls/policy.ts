import type { ComputeManagementClient } from '@azure/arm-compute';

/** A step of a management client's pipeline. All clients have the same kind. */
export type Policy = Parameters<ComputeManagementClient['pipeline']['addPolicy']>[0];
