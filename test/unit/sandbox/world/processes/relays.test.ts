import { join } from 'node:path';
import { expect, test } from 'vitest';
import { imageEnvironment } from '../../../../../sandbox/world/processes/relays.ts';

test('the relay runs here with the options of its image, the bound on its young objects among them', () => {
  const environment = imageEnvironment(join(import.meta.dirname, '../../../../..'));
  expect(environment['NODE_ENV']).toBe('production');
  expect(environment['NODE_OPTIONS']?.split(' ')).toContain('--max-semi-space-size=4');
});
