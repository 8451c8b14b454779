// Every request of the dashboard passes here: the session, the merchant that was chosen, forged forms, the rights of the role,
// and errors as screens.

import { ApiError } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import { inCellOf } from '../../kit/cells/cells.ts'
import { runAudited } from '../../kit/db/audit-context.ts'
import { runAsMerchant } from '../../kit/db/tenant-isolation.ts'
import { html } from '../../kit/http/html.ts'
import type { PageCookie, PageResponse, PageRoute } from '../../kit/http/route.ts'
import { accountOf } from '../../people/accounts.ts'
import { PeopleError } from '../../people/errors.ts'
import { auditOf, type Principal } from '../../people/sessions.ts'
import type { AreaApp, DashboardApp, OpsApp } from '../app.ts'
import { signInPathOf } from './area.ts'
import { notice } from './components.ts'
import { cookie } from './cookies.ts'
import {
  csrfToken,
  describeError,
  errorBody,
  hasMerchant,
  type Insider,
  type Member,
  memberInside,
  memberRights,
  operatorInside,
  operatorRights,
  postForm,
  showInside,
} from './inside.ts'
import {
  APP_PATH,
  addressOf,
  changeLanguage,
  isForged,
  originOf,
  type PageRequest,
  readPrincipal,
} from './request.ts'
import type { AreaRequest, Person, Screen, ScreenResponse } from './screen.ts'
import { CONFIRM_PATH, stepUp } from './step-up.ts'

const CHOOSE_PATH = `${APP_PATH}/choose`

/** The page route of a screen of a merchant's people. */
export function guarded(app: DashboardApp, screen: Screen): PageRoute {
  return routeOf(app, screen, memberRights(app), async (request, principal) => {
    if (!hasMerchant(principal)) return { http: 303, redirectTo: CHOOSE_PATH }
    const person = personOf(principal, request)
    const visit: Visit = {
      ...(await memberInside(app, request, principal)),
      request,
      call: (operationId, input) => app.operations.call(person, operationId, input),
    }
    return handle(app, screen, visit, (shared) => ({ ...shared, person }))
  })
}

/**
 * The page route of a screen of operators, who may do everything. In production a password alone is not enough for that.
 */
export function guardedForOperators(app: OpsApp, screen: Screen<AreaRequest>): PageRoute {
  return routeOf(
    app,
    screen,
    () => operatorRights(app),
    async (request, principal) => {
      const { user, sessionId } = principal
      const { address, requestId } = request
      const operator = { userId: user.id, name: user.name, role: 'operator', sessionId, address, requestId }
      if (app.mode === 'live' && !user.hasTotp && !isOfAccount(screen))
        return { http: 303, redirectTo: `${app.area.path}/account?needs=totp` }
      const visit: Visit = {
        ...operatorInside(app, request, principal),
        request,
        call: (operationId, input) => app.operations.call(operator, operationId, input),
      }
      return handle(app, screen, visit, (shared) => shared)
    },
  )
}

/** The screens with which an operator sets up the authenticator app, which production needs. */
const isOfAccount = ({ path }: Pick<Screen, 'path'>) =>
  path === CONFIRM_PATH || /^\/account(?:\/|$)/.test(path)

type AllowsFor = (principal: Principal) => AreaRequest['allows']

function routeOf(
  app: AreaApp,
  screen: Rights & Pick<Screen, 'method' | 'path' | 'uploadLimitBytes'>,
  allowsFor: AllowsFor,
  show: (request: PageRequest, principal: Principal) => Promise<PageResponse>,
): PageRoute {
  const { method, path, uploadLimitBytes: limitBytes } = screen
  return {
    method,
    path: `${app.area.path}${path}`,
    ...(limitBytes !== undefined && { upload: uploadOf(app, screen, limitBytes, allowsFor) }),
    handle: async (request) => {
      const changed = changeLanguage(request)
      if (changed) return changed
      // The script loads live parts again.
      const principal = await readPrincipal(app, request, { isPassive: 'x-live' in request.headers })
      return principal
        ? show(request, principal)
        : { http: 303, redirectTo: signInAddress(app, request, method) }
    },
  }
}

/** A large body is read only for a person who may use the screen. */
function uploadOf(
  app: AreaApp,
  screen: Rights,
  limitBytes: number,
  allowsFor: AllowsFor,
): NonNullable<PageRoute['upload']> {
  return {
    limitBytes,
    reject: async (cookies) => {
      const principal = await readPrincipal(app, { cookies })
      if (!principal) return { http: 303, redirectTo: signInPathOf(app.area) }
      assertMayUse(screen, { principal, allows: allowsFor(principal) })
      return undefined
    },
  }
}

function personOf(
  { user, scopes, sessionId, authenticatedAt, merchant, role }: Member,
  { address, requestId }: PageRequest,
): Person {
  return {
    ...{ merchant, role, sessionId, scopes, address, requestId, authenticatedAt },
    ...{ userId: user.id, name: user.name, email: user.email },
  }
}

interface Visit extends Insider, Pick<AreaRequest, 'call'> {
  request: PageRequest
}

async function handle<Request extends AreaRequest>(
  app: AreaApp,
  screen: Screen<Request>,
  visit: Visit,
  complete: (shared: AreaRequest) => Request,
): Promise<PageResponse> {
  const csrf = csrfToken(app, visit.principal)
  const request = complete(toAreaRequest(app, screen, visit, csrf))
  // A new token of the session must reach the browser, whatever the screen does then.
  const cookies: PageCookie[] = []
  try {
    // Every form of ours has a submission: without one, different forms would share an idempotency key.
    if (screen.method === 'POST' && (isForged(app, visit.request, csrf) || !isUuid(request.form.submission)))
      throw new ApiError('browser_not_allowed')
    assertMayUse(screen, visit)
    const step = screen.stepUp && (await stepUp(screen, request, addressOf(visit.request)))
    if (step && 'ask' in step) return send(app, visit, step.ask)
    if (step) cookies.push(cookie(app, 'session', step.token))
    const confirmed = step ? { ...request, principal: step.principal } : request
    const response = await app.running.run(visit.principal.user.id, () => handleOnce(screen, confirmed))
    return send(app, visit, response, cookies)
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof PeopleError)) throw error
    return showError(app, visit, error, cookies)
  }
}

/** A submission that was refused, or that failed, may be sent again. */
async function handleOnce<Request extends AreaRequest>(
  screen: Screen<Request>,
  request: Request,
): Promise<ScreenResponse> {
  if (!screen.once) return screen.handle(request)
  const { app, principal, origin, form } = request
  const used = await accountOf(app, principal, origin).useSubmission(form.submission ?? '')
  if (!used) return { redirectTo: `${screen.once(request)}?done=repeated` }
  try {
    const response = await screen.handle(request)
    if ('http' in response && (response.http ?? 200) >= 400) await used.release()
    return response
  } catch (error) {
    await used.release()
    throw error
  }
}

type Rights = Pick<Screen, 'needs' | 'scope' | 'isOwn'>

function assertMayUse(
  { needs, scope, isOwn }: Rights,
  { principal: { merchant, scopes }, allows }: Pick<AreaRequest, 'principal' | 'allows'>,
): void {
  // As for the keys of the merchant. The person's own account stays: it leads to their other merchants.
  if (merchant?.status === 'suspended' && !isOwn) throw new ApiError('merchant_suspended')
  const isAllowed = needs.every(allows) && (scope === undefined || scopes.includes(scope))
  if (!isAllowed) throw new ApiError('insufficient_scope')
}

/** A form that was submitted before with other values is not shown again: there is nothing to correct in it. */
function refuseUsedForm(error: unknown): never {
  if (error instanceof ApiError && error.code === 'idempotency_key_reused') throw new PeopleError('form_used')
  throw error
}

function toAreaRequest(
  app: AreaApp,
  { method, path }: Pick<Screen, 'method' | 'path'>,
  { request, principal, texts, call, allows }: Visit,
  csrf: string,
): AreaRequest {
  const { params, query, form, files, cookies, styleNonce } = request
  const origin = originOf(app, request)
  const target = Object.values(params).at(-1) ?? null
  const context = { operation: `${method} ${app.area.path}${path}`, target }
  return {
    ...{ files, styleNonce },
    ...{ base: app.area.path, app, principal, origin, texts, params, query, form, cookies, allows },
    call: (operationId, input) => call(operationId, input).catch(refuseUsedForm),
    now: app.clock.now(),
    isTest: app.mode === 'test',
    change: (work) => {
      const audited = () => runAudited(auditOf(principal, origin, { ...context, at: app.clock.now() }), work)
      const { merchant } = principal
      if (!merchant) return audited()
      return inCellOf(app.cells, merchant.id, () => runAsMerchant(merchant.id, audited))
    },
    postForm: (action, fields, submission = app.random.uuid()) =>
      postForm(action, fields, { csrf, submission, hasFiles: false }),
    uploadForm: (action, fields) =>
      postForm(action, fields, { csrf, submission: app.random.uuid(), hasFiles: true }),
    submission: `app:${form.submission ?? ''}`,
  }
}

function send(
  app: AreaApp,
  visit: Visit,
  response: ScreenResponse,
  before: readonly PageCookie[] = [],
): PageResponse {
  const cookies = [...before, ...(response.cookies ?? [])]
  if ('redirectTo' in response) return { http: 303, redirectTo: response.redirectTo, cookies }
  if ('file' in response)
    return { http: 200, file: { ...response.file, type: 'text/csv; charset=utf-8' }, cookies }
  const { request, texts } = visit
  const isRepeated =
    request.query.done === 'repeated' && notice('wait', html`<p>${texts.t('done_repeated')}</p>`)
  const page = { ...response, body: html`${isRepeated}${response.body}` }
  return { ...showInside(app, request, visit, page), cookies }
}

function showError(
  app: AreaApp,
  visit: Visit,
  error: ApiError | PeopleError,
  cookies: readonly PageCookie[],
): PageResponse {
  const { texts, request } = visit
  const shown = describeError(texts, error, request.requestId)
  const body = errorBody(texts, shown, app.area)
  const { retryAfterSeconds: seconds } = error
  return {
    ...{ ...showInside(app, request, visit, { ...shown, body }), cookies },
    ...(seconds !== undefined && { headers: { 'retry-after': String(seconds) } }),
  }
}

function signInAddress({ area }: AreaApp, request: PageRequest, method: Screen['method']): string {
  if (method !== 'GET' || request.path === area.path) return signInPathOf(area)
  return `${signInPathOf(area)}?next=${encodeURIComponent(addressOf(request))}`
}
