"""How a dataset's report looks, on top of what all pages share: wide and narrow, light and dark."""

STYLE = """
:root {
  color-scheme: light dark;
  --ink: #223; --paper: #fff; --line: #d5d9e0; --head: #f2f4f8; --faint: #667;
  --bar: #7ba4dc; --heat: #3d78c8; --place: #1f8a5b; --bad: #c0392b; --fine: #2a8a4a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #dde1ea; --paper: #16191f; --line: #3c4350; --head: #232833; --faint: #9aa3b5;
    --bar: #47689a; --heat: #4f8be0; --place: #52c08f; --bad: #ef6a5a; --fine: #58bd7c;
  }
}
body { color: var(--ink); background: var(--paper); max-width: 76rem; }
h2 { margin: 2.2rem 0 .6rem; }
th, td { border-color: var(--line); }
th { background: var(--head); }
td { text-align: left; }
td svg { display: block; }
small { color: var(--faint); }
summary { cursor: pointer; }
figure { margin: 0; }
.note { white-space: normal; min-width: 10rem; }
figcaption pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 0; }
.lead { font-size: 1.15rem; }
.scroll { overflow-x: auto; }
.scroll table { margin: .4rem 0 1rem; }
.pair { display: flex; flex-wrap: wrap; gap: 1rem 3rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .5rem; margin: 1rem 0; }
.facts div { background: var(--head); border-radius: 6px; padding: .5rem .7rem; }
.facts dt { color: var(--faint); font-size: 13px; }
.facts dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
pre { overflow-x: auto; font-size: 12.5px; background: var(--head); padding: .7rem; border-radius: 6px; }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 26rem), 1fr)); gap: 1.2rem; }
.gallery img { width: 100%; height: auto; border-radius: 4px; }
.failed b { color: var(--bad); }
.recovered b { color: var(--fine); }
figure svg.chart { max-width: 100%; height: auto; }
svg.map { width: 100%; max-width: 44rem; }
svg.chart text { font: 13px system-ui, sans-serif; fill: var(--ink); }
svg.map text { font: 15px system-ui, sans-serif; fill: var(--ink); }
svg text.faint { fill: var(--faint); }
svg.map text.faint { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; }
.bar { fill: var(--bar); }
.heat { fill: var(--heat); }
.base { fill: #445; stroke: var(--faint); }
.line { fill: none; stroke: var(--ink); }
.frame { fill: none; stroke: var(--line); }
.ring { fill: none; stroke: var(--faint); stroke-opacity: .45; }
.reach { fill: none; stroke: var(--ink); stroke-dasharray: 6 4; }
.place { fill: none; stroke: var(--place); stroke-opacity: .7; }
.dot { fill: var(--fine); fill-opacity: .75; }
.cross { fill: none; stroke: var(--bad); stroke-width: 2.5; }
@media (max-width: 600px) {
  th, td { padding: .2rem .35rem; }
  th, td:first-child { white-space: normal; }
  td svg.chart { width: 6.5rem; }
}
"""
