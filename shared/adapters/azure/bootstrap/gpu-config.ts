import { gpuSize } from '../catalog/gpu-sizes.ts';
import type { ClassChoices } from './class-choices.ts';

/**
 * `gpu_config` of an AKSNodeConfig: the driver is installed on NVIDIA sizes unless the class leaves that to somebody
 * else. The node takes the driver's version, and the fabric manager of sizes with an NVLink switch, from its own table
 * by size. Null where there is nothing to install.
 */
export function gpuConfig({ gpu }: ClassChoices, size: string): object | null {
  const wantsDriver = (gpu?.mode ?? 'Driver') === 'Driver';
  if (!wantsDriver || gpuSize(size)?.manufacturer !== 'nvidia') return null;
  return { enable_nvidia: true, config_gpu_driver: true };
}
