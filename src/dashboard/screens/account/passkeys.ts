// The passkeys of a person: a new one, and the end of one.

import { isUuid } from '../../../core/ids.ts'
import { html } from '../../../kit/http/html.ts'
import { PeopleError } from '../../../people/errors.ts'
import { field, notice } from '../../frame/components.ts'
import { passkeyAnswer, passkeyCookie, passkeyFields } from '../../frame/passkey-form.ts'
import type { AreaRequest, Screen, ScreenResponse } from '../../frame/screen.ts'
import { accountPath, onAccount, ownAccount } from './account.ts'

const pathOf = (request: AreaRequest) => `${accountPath(request)}/passkeys`

const PATH = '/account/passkeys/new'

export const passkeyScreens: Screen<AreaRequest>[] = [
  { method: 'GET', path: PATH, needs: [], stepUp: true, handle: (request) => newPage(request) },
  { method: 'POST', path: PATH, needs: [], stepUp: true, handle: add },
  {
    method: 'POST',
    path: '/account/passkeys/{uuid}/remove',
    needs: [],
    stepUp: true,
    handle: (request) => onAccount(request, () => remove(request)),
  },
]

async function newPage(request: AreaRequest, problem?: PeopleError): Promise<ScreenResponse> {
  const { app, texts, form, postForm } = request
  const { t } = texts
  const question = await ownAccount(request).startPasskey()
  const isWrongName = problem?.code === 'name_not_valid'
  const fields = html`${field('name', t('passkeyName'), { value: form.name ?? '', isRequired: true, hint: t('passkeyNameHint'), ...(isWrongName && { error: texts.word('people', problem.code) }) })}${passkeyFields('create', question, texts)}<button>${t('passkeyCreate')}</button>`
  const body = html`<div class="head"><h1>${t('passkeyNew')}</h1></div>
${problem && notice('bad', html`<p>${texts.word('people', problem.code)}</p>`)}
<section class="card narrow"><p>${t('passkeyText')}</p>${postForm(`${pathOf(request)}/new`, fields)}<p><a href="${accountPath(request)}">${t('back')}</a></p></section>`
  return {
    ...{ title: t('passkeyNew'), body, http: problem?.http ?? 200 },
    cookies: [passkeyCookie(app, question)],
  }
}

async function add(request: AreaRequest): Promise<ScreenResponse> {
  const { app, form, change } = request
  try {
    const answer = { ...passkeyAnswer(app, request), name: (form.name ?? '').trim() }
    await change(() => ownAccount(request).addPasskey(answer))
    return { redirectTo: `${accountPath(request)}?done=passkey` }
  } catch (error) {
    if (!(error instanceof PeopleError)) throw error
    return newPage(request, error)
  }
}

async function remove(request: AreaRequest): Promise<ScreenResponse> {
  const { uuid } = request.params
  if (!isUuid(uuid)) throw new PeopleError('passkey_refused')
  await request.change(() => ownAccount(request).removePasskey(uuid))
  return { redirectTo: `${accountPath(request)}?done=saved` }
}
