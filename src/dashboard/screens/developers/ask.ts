// A page that asks before something that cannot be undone, with the facts, and does it.

import { ApiError } from '../../../core/errors.ts'
import type { Html } from '../../../kit/http/html.ts'
import { html } from '../../../kit/http/html.ts'
import type { OperationId } from '../../../kit/http/route.ts'
import { problemNotice } from '../../frame/components.ts'
import type { Screen, ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { TextId } from '../../locales/en.ts'

interface Question {
  /** Below /app. The page and its form have the same path. */
  path: string
  operation: OperationId
  title: TextId
  text: TextId
  button: TextId
  isDanger?: boolean
  stepUp?: true
  /** Why the person cannot do it. Then nothing is asked, also not who they are. */
  blocked?(request: ScreenRequest): Promise<TextId | null>
  /** What is asked about. It throws if there is no such record. */
  facts(request: ScreenRequest): Promise<Html>
  fields?(request: ScreenRequest): Html | null | Promise<Html | null>
  /** The screen to which the person can go back. */
  back: string
  act(request: ScreenRequest): Promise<ScreenResponse>
}

export function askScreens(question: Question): Screen[] {
  const { path, operation, stepUp, act, blocked } = question
  const needs = [operation]
  const asksWho: Screen['stepUp'] =
    stepUp && blocked ? async (request) => (await blocked(request)) === null : stepUp
  return [
    { method: 'GET', path, needs, stepUp: asksWho, handle: (request) => ask(question, request) },
    {
      method: 'POST',
      path,
      needs,
      stepUp,
      handle: async (request) => {
        try {
          return await act(request)
        } catch (error) {
          if (error instanceof ApiError) return ask(question, request, error)
          throw error
        }
      },
    },
  ]
}

async function ask(question: Question, request: ScreenRequest, problem?: ApiError) {
  const { texts, params, postForm } = request
  const { t } = texts
  const { title, text, button, isDanger, facts, fields, path, back, blocked } = question
  const filled = (pattern: string) =>
    `/app${pattern.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(params[name] ?? ''))}`
  const shown = await facts(request)
  const reason = await blocked?.(request)
  const goBack = html`<a class="button plain" href="${filled(back)}">${t('back')}</a>`
  const form = reason
    ? html`<p>${goBack}</p>`
    : postForm(
        filled(path),
        html`${await fields?.(request)}<button${isDanger && html` class="danger"`}>${t(button)}</button> ${goBack}`,
      )
  const body = html`<div class="head"><h1>${t(title)}</h1></div>${problemNotice(problem, { overlapHours: t('overlap') })}
<section class="card"><p>${t(reason ?? text)}</p>${shown}${form}</section>`
  return { title: t(title), body, http: problem ? 422 : 200 }
}
