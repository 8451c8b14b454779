// The gateways of the service: those that are configured, the sandbox, and transfers to the merchant's own account.

import { METRICS } from '../core/metric-definitions.ts'
import { createTokenSources } from '../gateway-tokens/source.ts'
import { createTokenStore } from '../gateway-tokens/store.ts'
import { BKASH } from '../gateways/bkash/index.ts'
import { CHAPA } from '../gateways/chapa/index.ts'
import { DARAJA } from '../gateways/daraja/index.ts'
import type { GatewayDefinition } from '../gateways/definition.ts'
import { FLUTTERWAVE } from '../gateways/flutterwave/index.ts'
import { createGatewayMeasure } from '../gateways/measure.ts'
import { MTN_MOMO } from '../gateways/mtn-momo/index.ts'
import { PAWAPAY } from '../gateways/pawapay/index.ts'
import { PAYMOB } from '../gateways/paymob/index.ts'
import { PAYSTACK } from '../gateways/paystack/index.ts'
import { createGateways } from '../gateways/registry.ts'
import { createSandboxGateway } from '../gateways/sandbox/index.ts'
import { openListener } from '../gateways/sandbox/provider/listener.ts'
import { createPostgresStore } from '../gateways/sandbox/provider/postgres-store.ts'
import { createSandboxProvider } from '../gateways/sandbox/provider/server.ts'
import { sandboxRails } from '../gateways/sandbox/rails.ts'
import { SSLCOMMERZ } from '../gateways/sslcommerz/index.ts'
import { STRIPE } from '../gateways/stripe/index.ts'
import { WAVE } from '../gateways/wave/index.ts'
import type { Vault } from '../kit/crypto.ts'
import type { Db } from '../kit/db/db.ts'
import type { HttpClient } from '../kit/http/http-client.ts'
import { createRoutingSettings } from '../merchants/routing-rules-cache.ts'
import { createP2pGateways } from '../p2p/gateway.ts'
import { createCallbackPaths } from '../secrets/callback-paths.ts'
import type { InstanceSecrets } from '../secrets/secrets.ts'
import type { Addresses, Parts } from './parts.ts'

/** Every gateway that can be configured. Staging also has the sandbox. */
export const GATEWAYS: readonly GatewayDefinition[] = [
  STRIPE,
  PAYSTACK,
  FLUTTERWAVE,
  PAWAPAY,
  MTN_MOMO,
  DARAJA,
  WAVE,
  CHAPA,
  BKASH,
  PAYMOB,
  SSLCOMMERZ,
]

export const SANDBOX_PATH = '/sandbox'

interface Needs extends Addresses {
  db: Db
  unscopedDb: Db
  unscopedInstanceDb: Db
  vault: Vault
  http: HttpClient
  secrets: InstanceSecrets
  /** Caches refresh their entries until this signal aborts. */
  refreshUntil: AbortSignal
}

export async function composeGateways(parts: Parts, needs: Needs) {
  const { config, cells, clock, random, log, stops, measured, tracing } = parts
  const { db, unscopedDb, vault, refreshUntil, publicUrl } = needs
  const { mode } = config
  const { provider, sandbox } = await composeSandbox(parts, needs)
  const measure = createGatewayMeasure(measured.metrics)
  const builtIn = mode === 'test' ? [measure(sandbox)] : []
  const p2pGateways = createP2pGateways({ db, cells, clock, random, mode }, unscopedDb, refreshUntil)
  const routingSettings = createRoutingSettings({ db: needs.unscopedInstanceDb, clock }, refreshUntil)
  const routingRules = async (merchantId: string) => (await routingSettings(merchantId)).rules
  const merchantCountry = async (merchantId: string) => (await routingSettings(merchantId)).country
  const callbackPaths = createCallbackPaths(needs.secrets.callbackKeys)
  const tokens = composeTokens(parts, needs)
  const gateways = createGateways(
    {
      db: unscopedDb,
      cells,
      clock,
      vault,
      callbackPaths,
      log,
      routingRules,
      merchantCountry,
      openTokens: tokens.open,
    },
    {
      definitions: GATEWAYS,
      configs: config.gateways,
      builtIn,
      builtInRails: sandboxRails(
        config.sandboxWays,
        GATEWAYS.flatMap(({ rails }) => rails),
      ),
      perMerchant: [p2pGateways],
      refreshUntil,
      mode,
      timeoutMs: config.gatewayTimeoutMs,
      publicUrl,
      measure,
      wrap: tracing.http,
    },
  )
  stops.push(async () => {
    await gateways.close()
    await tokens.close()
  })
  const gatewayNames = [...GATEWAYS, ...builtIn, p2pGateways].map(({ name }) => name)
  return { provider, sandbox, p2pGateways, gateways, gatewayNames }
}

/** The access tokens of gateways: shared by all processes, and never scoped to a merchant. */
function composeTokens({ clock, log, measured }: Parts, { unscopedInstanceDb, vault, secrets }: Needs) {
  const grants = measured.metrics.counter(METRICS.gatewayTokenGrants)
  const store = createTokenStore(unscopedInstanceDb)
  const count = (gateway: string, outcome: string) => grants.add([gateway, outcome])
  return createTokenSources({ store, vault, clock, log, key: secrets.tokenKey, count })
}

/** The sandbox provider runs in this process unless COWRY_SANDBOX_URL names another one. Production has none. */
async function composeSandbox(parts: Parts, { http, secrets, localUrl, publicUrl }: Needs) {
  const { config, role, clock, log, random, db, stops } = parts
  const { sandboxSecret: secret, sandboxWebhookSecret: webhookSecret } = secrets
  const provider =
    config.mode === 'test' && config.sandboxUrl === null
      ? createSandboxProvider({
          store: createPostgresStore(db),
          clock,
          random,
          log,
          http,
          secret,
          webhookSecret,
          basePath: SANDBOX_PATH,
          get publicUrl() {
            return publicUrl()
          },
          get webhookUrl() {
            return role === 'worker' ? undefined : `${localUrl()}/hooks/sandbox`
          },
        })
      : null
  const listener = provider && (await openListener(provider, { host: '127.0.0.1', port: 0 }))
  if (listener) stops.push(() => listener.close())
  const baseUrl = config.sandboxUrl ?? (listener ? `${listener.url}${SANDBOX_PATH}` : '')
  return { provider, sandbox: createSandboxGateway({ http, clock, secret, webhookSecret, baseUrl }) }
}
