import type { PublishedDevice } from '../../kubernetes/device-manifest.ts';

/** What a selector looks at. */
export interface SelectedDevice {
  readonly driver: string;
  readonly device: PublishedDevice;
}

/** Whether a selector takes a device, or why it cannot be said. */
export type Verdict = boolean | { readonly error: string };

export type DevicePredicate = (device: SelectedDevice) => Verdict;

/** Reads a CEL selector of devices, or says what is wrong with it. Pure: one text always has one meaning. */
export type CompileSelector = (expression: string) => DevicePredicate | { readonly error: string };
