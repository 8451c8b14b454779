// Adding an endpoint and replacing its secret, which is shown once, and deleting the endpoint.

import { ApiError } from '../../../core/errors.ts'
import { html } from '../../../kit/http/html.ts'
import type { RouteResponse } from '../../../kit/http/route.ts'
import { problemNotice, written } from '../../frame/components.ts'
import type { Screen, ScreenRequest } from '../../frame/screen.ts'
import { askScreens } from './ask.ts'
import { endpointFields, endpointInput, endpointLabels, requireEvents } from './endpoint-form.ts'
import { endpointFacts, loadEndpoint } from './endpoints.ts'
import { overlapField, overlapInput } from './overlap.ts'
import { isReplayed, showOnce } from './show-once.ts'
import { developerTabs, ENDPOINTS_PATH } from './tabs.ts'

const ONE = '/developers/endpoints/{uuid}'

async function factsOf(request: ScreenRequest) {
  const endpoint = await loadEndpoint(request)
  return html`<h2>${written(endpoint.url)}</h2>${endpointFacts(endpoint, request)}`
}

export const endpointSecretScreens: Screen[] = [
  {
    method: 'GET',
    path: '/developers/endpoints/new',
    needs: ['webhookEndpoints.create'],
    handle: async (request) => showNew(request),
  },
  {
    method: 'POST',
    path: '/developers/endpoints/new',
    needs: ['webhookEndpoints.create'],
    handle: add,
  },
  ...askScreens({
    path: `${ONE}/secret`,
    operation: 'webhookEndpoints.rotateSecret',
    title: 'secretRotate',
    text: 'secretRotateText',
    button: 'secretRotate',
    stepUp: true,
    facts: factsOf,
    fields: overlapField,
    back: ONE,
    act: async (request) => {
      const { call, params, submission } = request
      const input = { params: { uuid: params.uuid ?? '' }, body: overlapInput(request) }
      return showSecret(
        request,
        await call('webhookEndpoints.rotateSecret', { ...input, idempotencyKey: submission }),
      )
    },
  }),
  ...askScreens({
    path: `${ONE}/delete`,
    operation: 'webhookEndpoints.delete',
    title: 'endpointDeleteTitle',
    text: 'endpointDeleteText',
    button: 'endpointDelete',
    isDanger: true,
    facts: factsOf,
    back: ONE,
    act: async ({ call, params }) => {
      await call('webhookEndpoints.delete', { params: { uuid: params.uuid ?? '' } })
      return { redirectTo: `${ENDPOINTS_PATH}?done=deleted` }
    },
  }),
]

/** The API shows the secret again to a retry; a page that is loaded again must not. */
function showSecret(request: ScreenRequest, response: RouteResponse) {
  // A boundary: the operations return an endpoint with its secret.
  const { uuid, secret } = response.data as { uuid: string; secret: string }
  return showOnce(request, {
    title: 'secretTitle',
    text: 'secretText',
    gone: 'secretGone',
    next: `${ENDPOINTS_PATH}/${uuid}`,
    value: isReplayed(response) ? null : secret,
  })
}

function showNew(request: ScreenRequest, problem?: ApiError) {
  const { texts, form, postForm } = request
  const { t } = texts
  const input = problem ? endpointInput(form) : { url: '', description: '', events: ['*'] }
  const fields = html`${endpointFields(texts, input, problem)}<button>${t('endpointAdd')}</button>`
  const body = html`<div class="head"><h1>${t('endpointNew')}</h1></div>${developerTabs(request, ENDPOINTS_PATH)}${problemNotice(problem, endpointLabels(texts))}
<section class="card">${postForm(`${ENDPOINTS_PATH}/new`, fields)}</section>`
  return { title: t('endpointNew'), body, http: problem ? 422 : 200 }
}

async function add(request: ScreenRequest) {
  const { call, form, texts, submission } = request
  try {
    const body = endpointInput(form)
    requireEvents(texts, body)
    return showSecret(request, await call('webhookEndpoints.create', { body, idempotencyKey: submission }))
  } catch (error) {
    if (error instanceof ApiError) return showNew(request, error)
    throw error
  }
}
