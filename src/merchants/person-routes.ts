// The settings of a merchant for its own people in the dashboard.

import { Type } from 'typebox'
import { ok, type PersonRoute, personRoute } from '../kit/http/route.ts'
import { ExpectedLimits, SettingsInput } from './schema.ts'
import { type MerchantsApp, requireMerchant, updateSettings } from './service.ts'

const PATH = '/app/settings'

export function settingsRoutes(app: MerchantsApp): PersonRoute[] {
  return [
    personRoute({
      method: 'GET',
      path: PATH,
      scope: 'settings:read',
      operationId: 'settings.get',
      handle: async ({ merchant }) => ok('Settings.', (await requireMerchant(app, merchant.id)).settings),
    }),
    personRoute({
      method: 'PATCH',
      path: PATH,
      scope: 'settings:write',
      operationId: 'settings.update',
      // Named as in the operators' API, so that an error names the same field.
      body: Type.Object({ settings: SettingsInput, expected: Type.Optional(ExpectedLimits) }),
      handle: async ({ merchant, body }) =>
        ok('Settings changed.', await updateSettings(app, merchant.id, body)),
    }),
  ]
}
