// Saved views of the list of payments: links to them, and forms to save, rename, share and delete them.

import { type ApiError, requireFound } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import type { OperationId } from '../../../kit/http/route.ts'
import type { SavedView } from '../../../saved-views/view.ts'
import {
  type Column,
  empty,
  field,
  notice,
  problemNotice,
  table,
  tick,
  written,
} from '../../frame/components.ts'
import { fieldErrors, orShowProblem } from '../../frame/form-input.ts'
import { loadNames } from '../../frame/names.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'

const LIST = '/app/payments'
const PATH = '/app/views'
/** Of the address, and no filters. */
const NOT_SAVED: readonly string[] = ['cursor', 'page', 'done', 'lang']

export const savedViewScreens: Screen[] = [
  {
    method: 'GET',
    path: '/views',
    needs: ['savedViews.list'],
    handle: (request) => showAll(request),
  },
  {
    method: 'GET',
    path: '/views/{uuid}',
    needs: ['savedViews.list'],
    handle: async (request) => showOne(request, await requireView(request)),
  },
  {
    method: 'POST',
    path: '/views',
    needs: ['savedViews.create'],
    handle: (request) =>
      orShowProblem(
        () => saveNew(request),
        (problem) => showAll(request, problem),
      ),
  },
  {
    method: 'POST',
    path: '/views/{uuid}',
    needs: ['savedViews.update'],
    handle: async (request) => {
      const view = await requireView(request)
      return orShowProblem(
        () => change(request, 'savedViews.update', namedBy(request)),
        (problem) => showOne(request, view, problem),
      )
    },
  },
  {
    method: 'POST',
    path: '/views/{uuid}/delete',
    needs: ['savedViews.delete'],
    handle: (request) => change(request, 'savedViews.delete'),
  },
]

const namedBy = ({ form }: ScreenRequest) => ({
  name: (form.name ?? '').trim(),
  isShared: form.isShared !== undefined,
})

async function saveNew(request: ScreenRequest): Promise<ScreenResponse> {
  const query = filtersOf(Object.fromEntries(new URLSearchParams(request.form.query)))
  await request.call('savedViews.create', { body: { ...namedBy(request), query } })
  return { redirectTo: `${LIST}?${query}` }
}

async function change(
  { call, params }: ScreenRequest,
  operation: OperationId,
  body?: ReturnType<typeof namedBy>,
): Promise<ScreenResponse> {
  await call(operation, { params, body })
  return { redirectTo: `${PATH}?done=saved` }
}

async function loadViews({ call }: ScreenRequest): Promise<SavedView[]> {
  // A boundary: the operation returns records of this type.
  return (await call('savedViews.list')).data as SavedView[]
}

async function requireView(request: ScreenRequest): Promise<SavedView> {
  const views = await loadViews(request)
  return requireFound(
    views.find(({ uuid }) => uuid === request.params.uuid),
    'route_not_found',
  )
}

async function showAll(request: ScreenRequest, problem?: ApiError): Promise<ScreenResponse> {
  const { texts, query } = request
  const { t } = texts
  const [views, nameOf] = await Promise.all([loadViews(request), loadNames(request)])
  const columns: Column<SavedView>[] = [
    {
      label: t('viewName'),
      isTitle: true,
      cell: ({ uuid, name }) => html`<a class="row" href="${PATH}/${uuid}">${written(name)}</a>`,
    },
    { label: t('viewOwner'), cell: ({ userId }) => nameOf(userId) },
    { label: t('viewShared'), cell: ({ isShared }) => t(isShared ? 'yes' : 'no') },
  ]
  const body = html`<div class="head"><h1>${t('views')}</h1></div>
${query.done === 'saved' && notice('good', html`<p>${t('done_view')}</p>`)}${problemNotice(problem, labelsOf(texts))}
${views.length === 0 ? empty(t('noViewsTitle'), t('noViewsText')) : table(t('views'), columns, views)}`
  return { title: t('views'), body, http: problem ? 422 : 200 }
}

/** Its owner changes a view; who may change settings also changes the shared views of others. */
function showOne(request: ScreenRequest, view: SavedView, problem?: ApiError): ScreenResponse {
  const { texts, postForm, person } = request
  const { t } = texts
  const mayChange = view.userId === person.userId || person.scopes.includes('settings:write')
  const path = `${PATH}/${view.uuid}`
  const forms = html`<section class="card">${postForm(path, html`${nameFields(request, view, problem)}<button>${t('save')}</button>`)}</section>
<section class="card">${postForm(`${path}/delete`, html`<button class="danger">${t('viewDelete')}</button>`)}</section>`
  const body = html`<div class="head"><h1>${written(view.name)}</h1><div class="actions"><a class="button plain" href="${LIST}?${view.query}">${t('viewOpen')}</a></div></div>
${problemNotice(problem, labelsOf(texts))}${mayChange && forms}`
  return { title: view.name, body, http: problem ? 422 : 200 }
}

function filtersOf(query: Readonly<Record<string, string>>): string {
  const saved = Object.entries(query).filter(([name, value]) => value !== '' && !NOT_SAVED.includes(name))
  return new URLSearchParams(saved).toString()
}

/** Above the list: the views, and a form that saves the filters of the address. */
export async function viewsAbove(request: ScreenRequest): Promise<Html> {
  const { query, texts, postForm } = request
  const { t } = texts
  const views = await loadViews(request)
  const filters = filtersOf(query)
  const current = views.find((view) => view.query === filters)
  const links = views.map(
    ({ name, query: saved, uuid }) =>
      html`<li><a href="${LIST}?${saved}"${uuid === current?.uuid && html` aria-current="page"`}>${written(name)}</a></li>`,
  )
  const fields = html`<input type="hidden" name="query" value="${filters}">${nameFields(request)}<button class="plain">${t('viewSave')}</button>`
  return html`<nav aria-label="${t('views')}"><ul class="tabs">${links}<li><a href="${PATH}">${t('viewsChange')}</a></li></ul></nav>
${filters !== '' && !current && html`<details><summary>${t('viewSave')}</summary>${postForm(PATH, fields)}</details>`}`
}

const labelsOf = ({ t }: Texts) => ({
  name: t('viewName'),
  isShared: t('viewShared'),
  query: t('filtersTitle'),
})

function nameFields({ texts, form }: ScreenRequest, view?: SavedView, problem?: ApiError): Html {
  const { t } = texts
  const { name: error } = fieldErrors(problem, labelsOf(texts))
  const value = problem ? form.name : view?.name
  return html`${field('name', t('viewName'), { value, isRequired: true, error })}${tick('isShared', t('viewShared'), view?.isShared ?? false)}`
}
