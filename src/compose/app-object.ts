// The app object: each slice declares the part of it that it needs as a type, and this one object satisfies them all.

import { createKeyCache } from '../api-keys/authenticate.ts'
import { promptEndsAt } from '../checkout/phone-prompts.ts'
import { createDeliveryWriter } from '../deliveries/app.ts'
import { areSeveral, inCellOfValue, perCell, routedDb } from '../kit/cells/cells.ts'
import { cellOfUuid } from '../kit/cells/values.ts'
import { createSigner, createVault } from '../kit/crypto.ts'
import type { Db, ScopableDb } from '../kit/db/db.ts'
import { checkHome } from '../kit/db/home-check.ts'
import { createCappedLists } from '../kit/db/pagination.ts'
import { requestScoped } from '../kit/db/tenant-isolation.ts'
import { withCommitFailpoints } from '../kit/failpoints.ts'
import { createBackground } from '../kit/http/background.ts'
import { createHttpClient } from '../kit/http/http-client.ts'
import { createOidc, type Oidc } from '../kit/http/oidc.ts'
import { createPublicHttp, type PublicHttp } from '../kit/http/public-http.ts'
import { createMailer } from '../kit/mail.ts'
import { reserveSlot } from '../links/slots.ts'
import { createPlacement } from '../merchants/placement.ts'
import { createMerchantProfiles } from '../merchants/profiles.ts'
import { isSuspended, requireMerchant } from '../merchants/service.ts'
import { createPaymentWriters, type RefundKey, type Report } from '../payments/app.ts'
import { findMerchantByGatewayKey } from '../payments/find.ts'
import type { PaymentRow } from '../payments/payment.ts'
import { createPasswordHasher } from '../people/passwords.ts'
import { wakeLookup } from '../provider-refunds/lookup.ts'
import { wakeRefunds, wakeRefundWithReport } from '../refunds/advance.ts'
import type { RefundWake } from '../refunds/refund.ts'
import { loadSecrets, requireKeyring } from '../secrets/secrets.ts'
import { probeCell } from './cells.ts'
import { composeGateways } from './gateways.ts'
import type { Addresses, Parts } from './parts.ts'

export type App = Awaited<ReturnType<typeof composeApp>>['app']

export async function composeApp(parts: Parts, addresses: Addresses) {
  const { config, clock, log, random, stops, counters, cells } = parts
  const { mode } = config
  const databases = openHandles(parts)
  const { db, instanceDb, unscopedDb, unscopedInstanceDb } = databases
  const secrets = await loadSecrets(instanceDb, config, random)
  const vault = createVault(secrets.encryptionKeys, random)
  await requireKeyring(instanceDb, vault)
  const { http, publicHttp } = openHttpClients(parts)
  const stopped = new AbortController()
  stops.push(async () => stopped.abort())
  const refreshUntil = stopped.signal
  const { provider, ...gateways } = await composeGateways(parts, {
    ...{ ...databases, vault, http, secrets, refreshUntil },
    ...addresses,
  })
  const background = createBackground({ log })
  stops.push(() => background.settled())
  const probe = (cell: number) => probeCell(cells, cell, clock.now())
  const app = {
    ...gateways,
    ...{ ...databases, cells, clock, random, log, vault, mode, publicHttp, counters, background },
    cursors: createSigner(secrets.cursorKey),
    probeCell: probe,
    placement: createPlacement({ unscopedInstanceDb, cells, clock, log, probeCell: probe }),
    keyPepper: secrets.keyPepper,
    keyCache: createKeyCache({ instanceDb: unscopedInstanceDb, clock }, { refreshUntil }),
    cappedLists: createCappedLists(clock),
    merchantProfile: createMerchantProfiles({ instanceDb: unscopedInstanceDb, clock }),
    writers: createPaymentWriters(unscopedDb, clock, cells),
    isSuspended: (id: string) => isSuspended({ instanceDb }, id),
    promptEndsAt: (gatewayKey: string) =>
      inCellOfValue(
        cells,
        cellOfUuid(gatewayKey),
        () => findMerchantByGatewayKey(unscopedDb, gatewayKey),
        () => promptEndsAt(unscopedDb, gatewayKey),
      ),
    wakeRefunds: async ({ isRefund = false, ...wake }: RefundWake & { isRefund?: boolean }) => {
      await wakeRefunds({ db, clock }, wake)
      if (isRefund) await wakeLookup({ db, clock }, wake)
    },
    wakeRefundByKey: (refund: RefundKey, report: Report | null) =>
      wakeRefundWithReport({ db, clock }, refund, report),
    requireMerchant: (id: string) => requireMerchant({ instanceDb }, id),
    checkCapacity: (payment: PaymentRow) => reserveSlot({ db, clock }, payment),
    finishDelivery: perCell(cells, () => createDeliveryWriter(unscopedDb)),
    failpoints: config.failpoints,
    passwords: createPasswordHasher(random, parts.passwordCost),
    peopleKey: secrets.peopleKey,
    /** Null: mail is not configured. */
    mailer: config.mail && createMailer({ log }, config.mail.server, config.mail.from),
    oidc: openOidc(parts, publicHttp, addresses),
    promptKey: secrets.promptKey,
    confirmationKey: secrets.confirmationKey,
    settings: {
      mode,
      publicUrl: addresses.publicUrl,
      checkoutMs: config.checkoutMinutes * 60_000,
      promptsPerNumber: config.promptsPerNumber,
      promptsPerVisitor: config.promptsPerVisitor,
      settlementMs: config.settlementHours * 3_600_000,
      gatewayTimeoutMs: config.gatewayTimeoutMs,
      fees: config.fees,
    },
  }
  return { app, provider }
}

/** The raw handle of the merchants' data. */
export function cellDbOf({ db, cells }: Pick<Parts, 'db' | 'cells'>): ScopableDb {
  return areSeveral(cells) ? routedDb(cells) : db
}

/** The database handles of the service, each with its trace spans and failpoints. */
function openHandles({ config, tracing, db, isIsolated, cells }: Parts) {
  const cellDb = cellDbOf({ db, cells })
  // Each cell knows itself whether row-level security is in force in it.
  const isTenantScoped = isIsolated || areSeveral(cells)
  const open = (handle: Db, home: 'instance' | 'cell') =>
    checkHome(tracing.db(withCommitFailpoints(handle, config.failpoints)), home)
  return {
    /** The merchants' data, in a request only that of its merchant. */
    db: open(requestScoped(cellDb, { isTenantScoped }), 'cell'),
    /** The merchants' data of every merchant: batched writes, caches, and records that the tenant role may not write. */
    unscopedDb: open(cellDb, 'cell'),
    /** The tables of the instance, in a request only the rows of its merchant. */
    instanceDb: open(requestScoped(db, { isTenantScoped: isIsolated }), 'instance'),
    unscopedInstanceDb: open(db, 'instance'),
    /** People belong to the instance, and to no merchant. */
    peopleDb: open(requestScoped(db, { isTenantScoped: false }), 'instance'),
    /** Records of a merchant that its own role may not write, with the actor of the request. */
    auditedDb: open(requestScoped(cellDb, { isTenantScoped: false }), 'cell'),
  }
}

/** The address of the return is known once the server listens, so the client is made at the first sign-in. */
function openOidc({ config, clock, random }: Parts, http: PublicHttp, { publicUrl }: Addresses): Oidc | null {
  const { oidc: provider, mode } = config
  if (!provider) return null
  let opened: Oidc | undefined
  const open = (): Oidc => {
    const redirectUri = `${publicUrl()}/app/sign-in/oidc/return`
    opened ??= createOidc(
      { clock, random, http, allowLoopbackHttp: mode === 'test' },
      { ...provider, redirectUri },
    )
    return opened
  }
  return { begin: () => open().begin(), finish: (query, pending) => open().finish(query, pending) }
}

/** One client for gateways, and one for the addresses that merchants configure. */
function openHttpClients({ config, stops, tracing }: Parts) {
  const http = tracing.http(createHttpClient({ totalTimeoutMs: config.gatewayTimeoutMs }))
  stops.push(() => http.close())
  const { webhookAllow: allow, webhookPorts: ports } = config
  const publicHttp = tracing.publicHttp(createPublicHttp({ allow, ports }))
  stops.push(() => publicHttp.close())
  return { http, publicHttp }
}
