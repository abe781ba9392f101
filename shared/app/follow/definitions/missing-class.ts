import { didYouMean } from '../../../kubernetes/text/word-meant.ts';

/**
 * What is said of a pool whose AKSNodeClass is not there, with the class that was probably meant. `given`: names of all
 * there are.
 */
export function missingClass(name: string, given: Iterable<string>): string {
  const fix = 'create it, or correct spec.template.spec.nodeClassRef.name';
  return `AKSNodeClass ${name} does not exist: ${fix}${didYouMean(name, given)}`;
}
