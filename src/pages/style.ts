// The style of every page: light and dark, from 320 px up, left to right and right to left, and for print. It is
// inline, so that the first view needs no second request.

export const STYLE = `
:root{color-scheme:light dark;--ink:#14201d;--dim:#4a5754;--page:#f4f6f5;--card:#fff;--line:#d5dddb;--field:#75827e;--soft:#eef2f1;--accent:var(--accent-light);--on-accent:var(--on-accent-light);--good:#0a6b45;--bad:#9c2b12;--bad-soft:#fdf0ec;--test:#ffcf4d}
@media (prefers-color-scheme:dark){:root{--ink:#edf3f1;--dim:#b3c0bc;--page:#101715;--card:#18211f;--line:#33403c;--field:#8b9a95;--soft:#202b28;--accent:var(--accent-dark);--on-accent:var(--on-accent-dark);--good:#63d6a4;--bad:#ffab91;--bad-soft:#2f1f1a}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;min-height:100vh;display:flex;flex-direction:column;background:var(--page);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Noto Sans Ethiopic","Noto Sans Bengali","Noto Sans Arabic",sans-serif}
h1,h2,p,dd,dt,a,button,summary,label,legend,li{overflow-wrap:anywhere}
h1{font-size:1.375rem;line-height:1.3;margin:0 0 .75rem;font-weight:650}
h2{font-size:1rem;margin:0 0 .25rem}
p{margin:0 0 .75rem}
a{color:var(--accent);text-underline-offset:.15em}
.test{background:var(--test);color:#241a00;text-align:center;padding:.35rem 1rem;font-weight:600;font-size:.9375rem}
.brand{max-width:58rem;margin:0 auto;padding:1rem 1rem .25rem;display:flex;align-items:center;gap:.75rem;font-weight:600;font-size:1.125rem}
.brand img,.mono{width:2.75rem;height:2.75rem;border-radius:.625rem;flex:none;object-fit:contain}
.mono{display:grid;place-items:center;background:var(--accent);color:var(--on-accent);font-size:1.25rem}
main{flex:1;width:100%;max-width:58rem;margin:0 auto;padding:.5rem 1rem 1.5rem}
.sheet{background:var(--card);border:1px solid var(--line);border-radius:1rem;padding:1.25rem;box-shadow:0 1px 2px #0000000f,0 8px 24px #0000000a}
.narrow{max-width:34rem;margin:1rem auto}
.summary h1.big{font-size:1.75rem;font-weight:700}
.links{padding:0;margin:0;list-style:none;display:flex;flex-wrap:wrap;gap:0 1.25rem}
.links a{display:inline-block;padding:.5rem 0}
.summary{padding:.25rem 0 .5rem}
.about{padding:.75rem 0}
.summary h1,.summary p{font-weight:400;font-size:1.0625rem;margin-bottom:.5rem}
.amount{display:block;font-size:2rem;line-height:1.2;font-weight:700;font-variant-numeric:tabular-nums;letter-spacing:-.01em}
p.amount{margin-bottom:1rem}
.facts{margin:0}
.facts div{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem;padding:.375rem 0}
.facts dt{color:var(--dim)}
.facts dd{margin:0;margin-inline-start:auto;text-align:end;font-weight:500;min-width:0}
.sheet .facts{margin:0 0 1rem}
.sheet .facts div{border-block-end:1px solid var(--line);padding:.625rem 0}
.account div{align-items:center}
.account dd{display:flex;flex-wrap:wrap;align-items:center;gap:.5rem;font-variant-numeric:tabular-nums}
fieldset{border:0;padding:0;margin:0 0 1rem;min-width:0}
legend{font-weight:650;padding:0;margin-bottom:.625rem}
.way{position:relative;border:1px solid var(--line);border-radius:.75rem;margin-bottom:.625rem}
.way>input{position:absolute;inset-block-start:1rem;inset-inline-start:1rem;width:1.25rem;height:1.25rem;margin:0;accent-color:var(--accent)}
.way>label{display:flex;align-items:center;gap:.75rem;min-height:3.25rem;padding:.5rem 1rem;padding-inline-start:3.25rem;font-weight:600;cursor:pointer}
.way svg{flex:none;width:1.5rem;height:1.5rem;order:1;margin-inline-start:auto;color:var(--dim)}
svg{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}
.way>input:checked~label svg{color:var(--accent)}
.way:has(>input:checked){border-color:var(--accent);box-shadow:inset 0 0 0 1px var(--accent)}
.names{display:block;font-weight:400;color:var(--dim);font-size:.875rem;line-height:1.3}
.way>input:checked~label .names{display:none}
.fields{display:none;padding:0 1rem 1rem}
.way>input:checked~.fields{display:block}
.fields p,.ask p{margin:0 0 .5rem}
.word{white-space:nowrap}
.networks span .word{display:inline;min-height:0;padding:0;border:0}
.test-only{font-weight:400;color:var(--dim);font-size:.8125rem;line-height:1.2}
.networks{display:grid;grid-template-columns:1fr 1fr;gap:.5rem;margin:0}
.networks legend,.networks p{grid-column:1/-1}
.networks legend{margin-bottom:.25rem}
.fields .networks label{position:relative;display:grid;margin:0;cursor:pointer}
.fields .networks input{position:absolute;inset:0;height:100%;margin:0;opacity:0}
.networks span{display:grid;place-items:center;min-height:3rem;padding:.25rem .5rem;border:1px solid var(--field);border-radius:.5rem;text-align:center;line-height:1.2}
.networks input:checked+span{border-color:var(--accent);box-shadow:inset 0 0 0 1px var(--accent);background:var(--soft)}
.networks input:focus-visible+span{outline:3px solid var(--accent);outline-offset:2px}
.page-hint,.networks:has(.page:checked)~.number{display:none}
.networks:has(.page:checked)~.page-hint{display:block;margin-top:.75rem}
.fields .tick{display:flex;gap:.5rem;font-weight:400}.tick input{flex:none;width:1.25rem;height:1.25rem;margin:.125rem 0 0;accent-color:var(--accent)}
.fields label,.ask label{display:block;font-weight:600;margin:.75rem 0 .25rem}
.fields input,.ask input,select{display:block;width:100%;min-height:3rem;padding:.5rem .75rem;border:1px solid var(--field);border-radius:.5rem;background:var(--card);color:var(--ink);font:inherit;font-size:1.0625rem}
[dir=rtl] input[dir=ltr]{text-align:right}
.ask label:first-of-type{margin-top:0}
.ask .main{margin-top:1.25rem}
.lines{white-space:pre-line}
[aria-invalid]{border:2px solid var(--bad)!important}
.fields button+p{margin:.5rem 0 0}form+p{margin-top:.75rem}
[role=status]{margin:1rem 0 0}
.test-choice{border:1px dashed var(--field);border-radius:.5rem;padding:.25rem .75rem .75rem;margin-top:1rem}
button,.button{display:block;width:100%;min-height:3rem;border:1px solid var(--accent);border-radius:.75rem;background:var(--accent);color:var(--on-accent);font:inherit;font-weight:650;padding:.75rem 1rem;text-align:center;text-decoration:none;cursor:pointer;margin-top:.625rem}
.plain{background:transparent;color:var(--accent)}
.link{border-color:transparent;background:transparent;color:var(--dim);font-weight:500;text-decoration:underline;text-underline-offset:.15em}
.copy{width:auto;min-height:2.5rem;margin:0;padding:.25rem .75rem;background:transparent;color:var(--accent);font-size:.9375rem}
.copyable{display:flex;gap:.5rem;align-items:center}
.code .copy{margin:0 0 .75rem auto}
details pre{max-height:26rem;overflow-y:auto}
.copyable .button{margin:0;flex:1}
button[disabled]{opacity:.6;cursor:progress}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:.25rem}
.notice{background:var(--soft);border-inline-start:4px solid var(--accent);border-radius:.5rem;padding:.75rem 1rem;margin:0 0 1rem}
.notice p:last-child{margin:0}
div.bad{border-color:var(--bad)}
div.wrong{background:var(--bad-soft);border-color:var(--bad);color:var(--bad)}
.wrong,.wrong a{color:var(--bad);font-weight:600}
.dim{color:var(--dim);font-size:.9375rem}
.foot{margin:1rem 0 0;text-align:center}
.foot a,.notice a{display:inline-block;padding:.25rem 0}
.sign{width:3.5rem;height:3.5rem;border-radius:50%;display:grid;place-items:center;margin:.25rem 0 1rem;background:var(--soft);color:var(--accent)}
.sign svg{width:2rem;height:2rem}
.sign.paid{background:var(--good);color:var(--card)}
.sign.stopped,.sign.attention{background:var(--bad-soft);color:var(--bad)}
.steps{list-style:none;counter-reset:step;padding:0;margin:0 0 1rem}
.steps li{counter-increment:step;display:flex;gap:.75rem;padding:.375rem 0}
.steps li::before{content:counter(step);flex:none;width:1.75rem;height:1.75rem;border-radius:50%;background:var(--accent);color:var(--on-accent);text-align:center;line-height:1.75rem;font-size:.9375rem;font-weight:650}
.deadline{background:var(--soft);border-radius:.75rem;padding:.75rem 1rem;margin:0 0 1rem}
.deadline p{margin:0}
.left b{font-size:1.25rem;font-variant-numeric:tabular-nums}
details{border:1px solid var(--line);border-radius:.75rem;padding:0 1rem;margin:0 0 1rem}
summary{padding:.75rem 0;min-height:3rem;font-weight:600;cursor:pointer}
.ways{border:0;padding:0;margin:0}
.other{border-block-start:1px solid var(--line);margin-top:1.25rem;padding-top:1rem}
.other p{margin:0}
footer{max-width:58rem;width:100%;margin:0 auto;padding:0 1rem 1.5rem;color:var(--dim);font-size:.9375rem}
footer p{margin:0 0 .5rem}
footer a{display:inline-block;padding:.25rem 0;margin-inline-end:.75rem}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:0 1rem;padding:0;margin:0 0 .75rem}
nav a{padding:.5rem 0;margin:0;color:var(--dim)}
nav a[aria-current]{color:var(--ink);font-weight:650;text-decoration:none}
code{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;overflow-wrap:anywhere}
pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:1rem;margin:.5rem 0 .75rem;font-size:.8125rem;border:1px solid var(--line);border-radius:.75rem;background:var(--soft)}
[hidden]{display:none!important}
.visually-hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
@media (max-width:30rem){.test{padding:.125rem 1rem;font-size:.875rem}.brand{padding:.375rem 1rem 0;font-size:1rem}.brand img,.mono{width:1.75rem;height:1.75rem}.mono{font-size:1rem}main{padding-top:.25rem}.summary{padding:.125rem 0 .375rem}.summary h1,.summary p{font-size:1rem;margin:0}.amount{display:inline-block;font-size:1.5rem}.sheet{padding:.625rem .75rem}.sheet legend{margin-bottom:.25rem}.way{margin-bottom:.375rem}.way>label{min-height:3rem;padding-block:.25rem}.way>input{inset-block-start:.875rem}.fields label{margin-top:.375rem}.fields{padding:0 .75rem .75rem}.way>label .test-only{display:block;line-height:1;padding-bottom:.25rem}.way>label span{line-height:1.25}.networks{gap:.375rem}.number p{margin-bottom:.125rem}}
@media (min-width:50rem){.brand{padding-top:2rem}.columns{display:grid;grid-template-columns:minmax(0,5fr) minmax(0,6fr);gap:0 3rem;align-items:start;grid-template-rows:auto 1fr}.columns .sheet{grid-area:1/2/3/3}.summary{padding-top:1rem}.amount{font-size:2.5rem}.sheet{padding:2rem}}
@media (prefers-reduced-motion:no-preference){.sign.waiting svg{animation:beat 2.4s ease-in-out infinite}@keyframes beat{50%{opacity:.45}}}
@media print{:root{--ink:#000;--dim:#333;--page:#fff;--card:#fff;--line:#999}body{display:block;font-size:11pt}.columns{display:block}.sheet{border:0;box-shadow:none;padding:0}.summary,.about,nav,.screen-only,.foot{display:none!important}.test{border:2px solid #000}a{color:inherit;text-decoration:none}}
`.trim()
