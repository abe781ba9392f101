import { describe } from 'vitest';
import { startReal } from './cases/api-under-test.ts';
import { applyCases } from './cases/apply-cases.ts';
import { customResourceCases } from './cases/custom-resource-cases.ts';
import { listWatchCases } from './cases/list-watch-cases.ts';
import { malformedCases } from './cases/malformed-cases.ts';
import { objectCases } from './cases/object-cases.ts';
import { podCases } from './cases/pod-cases.ts';
import { portCases } from './cases/port-cases.ts';
import { portOn } from './port-on.ts';
import { proxyCases } from './cases/proxy-cases.ts';
import { versionCases } from './cases/version-cases.ts';
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
