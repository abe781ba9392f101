import { describe } from 'vitest';
import { startReal } from './api-under-test.ts';
import { applyCases } from './apply-cases.ts';
import { customResourceCases } from './custom-resource-cases.ts';
import { listWatchCases } from './list-watch-cases.ts';
import { malformedCases } from './malformed-cases.ts';
import { objectCases } from './object-cases.ts';
import { podCases } from './pod-cases.ts';
import { portCases } from './port-cases.ts';
import { portOn } from './port-on.ts';
import { proxyCases } from './proxy-cases.ts';
import { versionCases } from './version-cases.ts';
import { startedApi } from './started-api.ts';

const assets = process.env['KUBEBUILDER_ASSETS'] ?? '';

describe.skipIf(assets === '')('the real kube-apiserver (needs KUBEBUILDER_ASSETS)', () => {
  const api = startedApi(() => startReal(assets, false));
  objectCases(api);
  listWatchCases(api);
  podCases(api);
  portCases(() => portOn(api()));
  proxyCases(api);
  versionCases(api);
  malformedCases(api);
  customResourceCases(api);
  applyCases(api);
});
