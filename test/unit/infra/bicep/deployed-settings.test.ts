import { expect, test } from 'vitest';
import { readDisruption } from '../../../../shared/contract/settings/disruption-settings.ts';
import { readPriceCurrency } from '../../../../shared/contract/settings/price-currency.ts';
import {
  ignoresDevices,
  readPolicy,
  dedicatesNodes,
} from '../../../../shared/contract/settings/scheduling-settings.ts';
import { readSettings } from '../../../../shared/contract/settings/settings.ts';
import { type Texts, declared, parseAll, propertiesOf, readTexts } from '../../../kit/infra/bicep/parse.ts';
import { evaluate, literalsOf } from '../../../kit/infra/bicep/value.ts';

const APP = 'modules/function-app.bicep';

/**
 * The app's settings as a deployment makes them that says nothing more than it has to; what only Azure knows is
 * `known`.
 */
function settingsOf(texts: Texts): Readonly<Record<string, string>> {
  const files = parseAll(texts);
  const file = files.get(APP);
  const main = files.get('main.bicep');
  const properties = propertiesOf(declared(file, 'appSettings').body).get('properties');
  if (file === undefined || properties === undefined) throw new Error(`${APP} sets nothing`);
  return Object.fromEntries(
    [...propertiesOf(properties)].map(([name, node]) => {
      // A parameter has the default that main.bicep gives it. Of `settings.?X ?? default` the last is what is left when
      // nothing is said.
      const given = main?.parameters.get(node.text)?.defaultValue;
      const value =
        main === undefined || given === undefined || given === null
          ? evaluate(files, file, node)
          : evaluate(files, main, given);
      const last = literalsOf(value).at(-1);
      return [name, last === undefined || last === null ? 'known' : String(last)];
    }),
  );
}

function startAppWith(environment: Readonly<Record<string, string>>): void {
  const settings = readSettings(environment);
  readPolicy(settings);
  readDisruption(settings);
  ignoresDevices(settings);
  dedicatesNodes(settings);
  readPriceCurrency(settings);
}

test('an app with the settings that a deployment makes starts', () => {
  const settings = settingsOf(readTexts());
  expect(() => startAppWith(settings)).not.toThrow();
  expect(settings).toMatchObject({
    DISRUPTION: 'on',
    SCHEDULED_EVENTS: 'off',
    PRICE_CURRENCY: 'USD',
    SWEEP_SCHEDULE: '0 * * * * *',
  });
});

test('a default that the app does not take is found out', () => {
  const texts = readTexts();
  const broken = (texts[APP] ?? '').replace("settings.?DISRUPTION ?? 'on'", "settings.?DISRUPTION ?? 'false'");
  expect(() => startAppWith(settingsOf({ ...texts, [APP]: broken }))).toThrow('app setting DISRUPTION is false');
});
