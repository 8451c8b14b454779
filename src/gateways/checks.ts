// The checks of the gateways for cowry doctor: whether payments can be collected at all, whether the providers accept the
// instance's credentials, and the settings at each provider that are often missing on the first day.

import type { Mode } from '../core/merchant.ts'
import { envNameOf } from '../settings.ts'
import type { AccountDefinition } from './account-definition.ts'
import { type AccountsApp, listOwnDefinitions } from './accounts.ts'
import type { Gateway, GatewayCheck } from './gateway.ts'

export interface GatewayChecksApp extends Pick<AccountsApp, 'db' | 'gateways'> {
  mode: Mode
}

/** A check with the gateway that it is about; null for all. */
export type NamedCheck = GatewayCheck & { gateway: string | null }

export async function checkGateways(app: GatewayChecksApp): Promise<NamedCheck[]> {
  const configured = app.gateways.supported
    .filter(({ isConfigured }) => isConfigured)
    .map(({ definition }) => definition)
  const own = await listOwnDefinitions(app)
  const isOther = ({ name }: AccountDefinition) => !configured.some((one) => one.name === name)
  const checked = await Promise.all([
    ...configured.map((definition) => checkConfigured(app, definition)),
    ...own.filter(isOther).map(async (definition) => manualChecksOf(definition)),
  ])
  const titles = configured.map(({ title }) => title).join(', ')
  return [existenceCheck(app.mode, titles, own.length), ...checked.flat()]
}

/** Staging always has the sandbox. */
function existenceCheck(mode: Mode, configured: string, ownAccounts: number): NamedCheck {
  const check = { gateway: null, name: 'configured' }
  if (configured !== '') return { ...check, result: 'ok', detail: configured }
  if (ownAccounts > 0) return { ...check, result: 'ok', detail: 'only accounts of merchants' }
  if (mode === 'test') return { ...check, result: 'ok', detail: 'only the sandbox' }
  return {
    ...check,
    result: 'failed',
    detail:
      'No gateway is configured, so no payment can be collected. Set the credentials of one, such as ' +
      'GATEWAY_PAYSTACK_SECRET_KEY, and restart; or give a merchant its own account with cowry gateways set. ' +
      'cowry gateways list shows the variables.',
  }
}

/** The account of the instance: the provider is asked. */
async function checkConfigured(app: GatewayChecksApp, definition: AccountDefinition): Promise<NamedCheck[]> {
  const { name } = definition
  const gateway = await app.gateways.find('', name, null)
  const checks = gateway ? await checkAccount(gateway, definition) : []
  return [...checks.map((check) => ({ gateway: name, ...check })), ...manualChecksOf(definition)]
}

function manualChecksOf({ name, manualChecks = [] }: AccountDefinition): NamedCheck[] {
  return manualChecks.map(({ about, detail }) => ({ gateway: name, name: about, result: 'by_hand', detail }))
}

async function checkAccount(gateway: Gateway, definition: AccountDefinition): Promise<GatewayCheck[]> {
  const credentials = await checkCredentials(gateway, definition)
  // Without valid credentials every other question is refused, too.
  if (credentials.result === 'failed') return [credentials]
  return [credentials, ...((await gateway.checkAccount?.()) ?? [])]
}

async function checkCredentials(
  gateway: Gateway,
  { name, title, credentials }: AccountDefinition,
): Promise<GatewayCheck> {
  const variables = credentials
    .filter(({ isRequired }) => isRequired)
    .map((field) => envNameOf(name, field.name))
  const result = await gateway.probe?.()
  const failed = (detail: string): GatewayCheck => ({ name: 'credentials', result: 'failed', detail })
  if (result === 'refused')
    return failed(
      `${title} refuses the credentials. Take them from its dashboard, set ${variables.join(' and ')}, and restart.`,
    )
  if (result === 'unreachable')
    return failed(
      `${title} did not answer in time, or not in its own format. Check that this machine reaches its API, and its status page.`,
    )
  return { name: 'credentials', result: 'ok', detail: '' }
}
