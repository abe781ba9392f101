import type { ImageFamily } from './image-definitions.ts';
import { type ClassChoices } from './class-choices.ts';
import { minorOf } from './kubernetes-minor.ts';

/** From these minor versions on AKS takes the newer system where a class does not say which. */
const AZURE_LINUX_3 = 32;
const UBUNTU_2404 = 34;

/** The operating system that a class's image family comes to; also the value of the label `os-sku-effective`. */
export function resolveFamily(
  { imageFamily = 'Ubuntu', security }: Pick<ClassChoices, 'imageFamily' | 'security'>,
  kubernetesVersion: string,
): ImageFamily {
  const minor = minorOf(kubernetesVersion);
  switch (imageFamily) {
    case 'Ubuntu2204':
    case 'Ubuntu2404':
      return imageFamily;
    case 'AzureLinux':
      return minor >= AZURE_LINUX_3 ? 'AzureLinux3' : 'AzureLinux2';
    default:
      return minor >= UBUNTU_2404 && !isTrustedLaunch(security) ? 'Ubuntu2404' : 'Ubuntu2204';
  }
}

/** A class asks for trusted launch with either of its parts. */
export function isTrustedLaunch(security: ClassChoices['security']): boolean {
  const { vtpm = false, secureBoot = false } = security?.trustedLaunch ?? {};
  return vtpm || secureBoot;
}
