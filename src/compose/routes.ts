// The routes of every slice, in the order of the API document.

import { operatorKeyRoutes } from '../api-keys/operator-routes.ts'
import { createdKeyRoutes } from '../api-keys/person-routes.ts'
import { apiKeyRoutes } from '../api-keys/routes.ts'
import type { SelfServiceKeysApp } from '../api-keys/self-service.ts'
import { auditRoutes, operatorAuditRoutes } from '../audit/routes.ts'
import { operatorCaseRoutes } from '../case-resolutions/operator-routes.ts'
import { caseRoutes } from '../case-resolutions/routes.ts'
import { catalogRoutes } from '../catalog/routes.ts'
import { moveRoutes } from '../cells/moves/routes.ts'
import { cellRoutes } from '../cells/routes.ts'
import { chargeRoutes } from '../charges/routes.ts'
import { checkoutRoutes } from '../checkout/routes.ts'
import { customerRoutes } from '../customers/routes.ts'
import type { DeliveriesApp } from '../deliveries/app.ts'
import { deliveryFailureRoutes } from '../deliveries/failures/routes.ts'
import { deliveryRoutes } from '../deliveries/routes.ts'
import { disputeRoutes } from '../disputes/routes.ts'
import { gatewayCheckRoutes } from '../gateways/check-routes.ts'
import { gatewayRoutes, ownGatewayRoutes } from '../gateways/routes.ts'
import { instanceRoutes } from '../instance.ts'
import { inEveryUpCell, readEveryCell } from '../kit/cells/cells.ts'
import type { Db } from '../kit/db/db.ts'
import { addReports, checkNow } from '../kit/db/invariant-checks.ts'
import { withExports } from '../kit/http/export.ts'
import type { OperatorRoute, PersonRoute, Route } from '../kit/http/route.ts'
import type { LinksApp } from '../links/app.ts'
import { linkRoutes } from '../links/routes.ts'
import { settingsRoutes } from '../merchants/person-routes.ts'
import { operatorRoutes } from '../merchants/routes.ts'
import type { P2pApp } from '../p2p/app.ts'
import { p2pRoutes } from '../p2p/routes.ts'
import { p2pAccountRoutes } from '../p2p-accounts/routes.ts'
import type { PaymentListsApp } from '../payment-lists/list.ts'
import { paymentListRoutes } from '../payment-lists/routes.ts'
import { paymentNoteRoutes } from '../payment-notes/routes.ts'
import { findReferences } from '../payments/find.ts'
import { PEOPLE_OPERATIONS } from '../people/app.ts'
import { operatorPeopleRoutes } from '../people/routes.ts'
import { operatorUserRoutes } from '../people/users/routes.ts'
import { receiptRoutes } from '../receipts/routes.ts'
import { ownReconciliationRoutes } from '../reconciliation/own-routes.ts'
import { reconciliationRoutes } from '../reconciliation/routes.ts'
import { refundRequestRoutes } from '../refund-requests/routes.ts'
import { refundDestinationRoutes } from '../refunds/destination/routes.ts'
import { findGatewayRefunds } from '../refunds/find.ts'
import { refundLimitRoutes } from '../refunds/limits/routes.ts'
import { refundRoutes } from '../refunds/routes.ts'
import { reportPersonRoutes } from '../reports/person-routes.ts'
import { reportRoutes } from '../reports/routes.ts'
import { requestLogRoutes } from '../request-log/routes.ts'
import { sandboxApiRoutes } from '../sandbox-api/routes.ts'
import type { SandboxApiApp } from '../sandbox-api/service.ts'
import { savedViewRoutes } from '../saved-views/routes.ts'
import { encryptionRoutes } from '../secrets/routes.ts'
import { testClockRoutes } from '../test-clock/routes.ts'
import { operatorTimelineRoutes } from '../timeline/operator-routes.ts'
import { historyRoutes, timelineRoutes } from '../timeline/routes.ts'
import { walletPersonRoutes } from '../wallet/person-routes.ts'
import { walletRoutes } from '../wallet/routes.ts'
import { webhookEndpointRoutes } from '../webhook-endpoints/routes.ts'
import type { App } from './app-object.ts'
import { testClockJobs } from './jobs.ts'

/** Every operation of the merchants' API. */
export function merchantRoutes(
  app: SandboxApiApp & LinksApp & PaymentListsApp & SelfServiceKeysApp & P2pApp & DeliveriesApp,
): Route[] {
  const timeZoneOf = async (merchantId: string) => (await app.merchantProfile(merchantId)).timeZone
  const routes = [
    ...checkoutRoutes(app),
    ...chargeRoutes(app),
    ...paymentListRoutes(app),
    ...timelineRoutes(app),
    ...refundRoutes(app),
    ...disputeRoutes(app),
    ...caseRoutes(app),
    ...linkRoutes(app),
    ...p2pAccountRoutes(app),
    ...p2pRoutes(app),
    ...customerRoutes(app),
    ...walletRoutes({
      ...app,
      referencesOf: (merchantId, ids) => findReferences(app.db, merchantId, ids),
      timeZoneOf,
    }),
    ...reportRoutes(app),
    ...catalogRoutes(app),
    ...webhookEndpointRoutes(app),
    ...deliveryRoutes(app),
    ...apiKeyRoutes(app),
    ...auditRoutes({ ...app, auditedOperations }),
    ...(app.settings.mode === 'test' ? sandboxApiRoutes(app) : []),
    ...(app.settings.mode === 'test' ? testClockRoutes({ ...app, dueJobs: () => testClockJobs(app) }) : []),
  ]
  return withExports(routes, { clock: app.clock, timeZoneOf })
}

/**
 * Every operation of the operators' API. Operators see all merchants: outside a merchant's request `app.db` is not scoped.
 * The invariants and the refunds of a settlement file are read with the handle that is never scoped.
 */
export function allOperatorRoutes(app: App, unscopedDb: Db): OperatorRoute[] {
  return [
    ...operatorKeyRoutes(app),
    ...operatorRoutes(app, {
      checkInvariants: async () =>
        addReports(await inEveryUpCell(app.cells, () => checkNow({ db: unscopedDb, clock: app.clock }))),
    }),
    ...operatorPeopleRoutes({
      ...app,
      publicUrl: app.settings.publicUrl,
      isStaging: app.settings.mode === 'test',
    }),
    ...operatorUserRoutes(app),
    ...gatewayRoutes({ ...app, publicUrl: app.settings.publicUrl }),
    ...gatewayCheckRoutes(app),
    ...operatorCaseRoutes(app),
    ...operatorTimelineRoutes(app),
    ...operatorAuditRoutes({ ...app, auditedOperations }),
    ...encryptionRoutes(app),
    ...cellRoutes(app),
    ...moveRoutes(app),
    ...instanceRoutes(app),
    ...reconciliationRoutes({
      ...app,
      findRefunds: (...wanted) => readEveryCell(app.cells, () => findGatewayRefunds(unscopedDb, ...wanted)),
    }),
  ]
}

/** The operations of people alone, each over the merchant of its session. */
export function personRoutes(app: App): PersonRoute[] {
  const { publicUrl } = app.settings
  return [
    ...settingsRoutes(app),
    ...reportPersonRoutes(app),
    ...walletPersonRoutes(app),
    ...requestLogRoutes(app),
    ...deliveryFailureRoutes(app),
    ...createdKeyRoutes(app),
    // Saving an account also writes records of the instance: when to look for its refunds, and its access tokens.
    ...ownGatewayRoutes({ ...app, publicUrl, db: app.auditedDb }),
    // In the cell of the merchant.
    ...ownReconciliationRoutes({
      ...app,
      cells: undefined,
      findRefunds: (...wanted) => findGatewayRefunds(app.db, ...wanted),
    }),
    ...historyRoutes(app),
    ...refundDestinationRoutes(app),
    ...refundLimitRoutes(app),
    ...refundRequestRoutes(app),
    ...paymentNoteRoutes(app),
    ...receiptRoutes(app),
    ...savedViewRoutes(app),
  ]
}

// Building the routes only reads the settings; their handlers, which need the rest, are not called.
const WITHOUT_HANDLERS = { settings: { mode: 'test' } } as App

/** The operations of operators to be described. Their handlers must not be called. */
export function describedOperatorRoutes(): OperatorRoute[] {
  return allOperatorRoutes(WITHOUT_HANDLERS, {} as Db)
}

/** The operations of people alone, to be described. Their handlers must not be called. */
export function describedPersonRoutes(): PersonRoute[] {
  return personRoutes(WITHOUT_HANDLERS)
}

/** The names under which the audit log records the operations of merchants, operators and people. */
function auditedOperations(): string[] {
  const ofMerchants = [...merchantRoutes(WITHOUT_HANDLERS), ...describedPersonRoutes()]
  const routes = [...ofMerchants, ...describedOperatorRoutes()]
  const audited = routes.filter((route) => route.method !== 'GET' && route.audited !== false)
  return [...audited.map(({ method, path }) => `${method} ${path}`), ...PEOPLE_OPERATIONS]
}
